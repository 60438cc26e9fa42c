//! Philox4x32-10, a counter-based generator.
//!
//! Source: Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3 (SC 2011).

const M0: u64 = 0xd251_1f53;
const M1: u64 = 0xcd9e_8d57;
const W0: u32 = 0x9e37_79b9;
const W1: u32 = 0xbb67_ae85;

/// The four words of `counter` under `key`.
///
/// ```
/// use core_types::philox::philox4x32;
///
/// assert_eq!(philox4x32([0; 2], [0; 4]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
/// ```
#[inline]
#[must_use]
pub const fn philox4x32(key: [u32; 2], counter: [u32; 4]) -> [u32; 4] {
    let [mut k0, mut k1] = key;
    let [mut c0, mut c1, mut c2, mut c3] = counter;
    let mut round = 0;
    while round < 10 {
        let p0 = M0 * c0 as u64; // 32-bit factors
        let p1 = M1 * c2 as u64;
        (c0, c1, c2, c3) = ((p1 >> 32) as u32 ^ c1 ^ k0, p1 as u32, (p0 >> 32) as u32 ^ c3 ^ k1, p0 as u32);
        (k0, k1) = (k0.wrapping_add(W0), k1.wrapping_add(W1));
        round += 1;
    }
    [c0, c1, c2, c3]
}

/// Words `4 block .. 4 block + 4` of the random sequence of a `site` and a `step`.
///
/// A `site` is one operation.
///
/// Every device draws word `i` of a sequence from lane `i % 4` of block `i / 4`, so masks do not
/// depend on launch shapes.
#[inline]
#[must_use]
pub const fn block(seed: u64, site: u32, step: u32, block: u64) -> [u32; 4] {
    philox4x32([seed as u32, (seed >> 32) as u32], [block as u32, (block >> 32) as u32, site, step])
}

/// A uniform number in `[0, 1)`: the upper 24 bits of a word, exactly.
#[inline]
#[must_use]
pub const fn uniform(word: u32) -> f32 {
    (word >> 8) as f32 * (1.0 / 16_777_216.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_vectors_hold() {
        let ones = [u32::MAX; 4];
        assert_eq!(philox4x32([u32::MAX; 2], ones), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        let pi = [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344];
        assert_eq!(philox4x32([0xa409_3822, 0x299f_31d0], pi), [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]);
    }

    #[test]
    fn blocks_place_seed_site_and_step_as_documented() {
        let pi = block(0x299f_31d0_a409_3822, 0x1319_8a2e, 0x0370_7344, 0x85a3_08d3_243f_6a88);
        assert_eq!(pi, [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]);
    }

    #[test]
    fn uniform_numbers_stay_below_one() {
        assert_eq!(uniform(u32::MAX), 1.0 - 1.0 / 16_777_216.0);
        assert_eq!(uniform(255), 0.0);
    }
}
