//! Parameter records of the function-secret-sharing ops.

use core::fmt;

use bytemuck::{Pod, Zeroable};
use zeroize::DefaultIsZeroes;

use super::sizes::sizes;
use crate::cipher::{aes::AesKey, block::block_words, prg::PrgKeys};

/// Generation of a batch of comparison keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct CmpGenParams {
    /// Public AES key of the tree.
    pub key: AesKey,
    /// Width n of points, 1 to 64.
    pub bits: u32,
    /// Keys in the batch.
    pub count: u32,
    /// Keeps the record free of padding; zero.
    pub reserved: [u32; 2],
}

sizes!(CmpGenParams { bits, count });

/// Evaluation of a batch of comparison keys at clustered points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct CmpWindowParams {
    /// Public AES key of the tree.
    pub key: AesKey,
    /// Width n of points, 1 to 64.
    pub bits: u32,
    /// Party whose shares are evaluated, 0 or 1.
    pub party: u32,
    /// Keys in the batch.
    pub count: u32,
    /// Offsets, and points per key.
    pub points: u32,
    /// Width of the [`Window`](crate::Window) of the points of a key, 7 to n; n if n is below 7.
    ///
    /// A window of all n bits allows any points.
    pub window: u32,
    /// Keeps the record free of padding; zero.
    pub reserved: [u32; 3],
}

sizes!(CmpWindowParams { bits, party, count, points, window });

/// Evaluation of some keys of a batch of comparison keys at every point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct CmpAllParams {
    /// Public AES key of the tree.
    pub key: AesKey,
    /// Width n of points, 1 to [`CMP_ALL_BITS`](crate::cmp::CMP_ALL_BITS).
    pub bits: u32,
    /// Party whose shares are evaluated, 0 or 1.
    pub party: u32,
    /// Keys in the batch.
    pub count: u32,
    /// First key that is evaluated, a multiple of 32.
    pub first: u32,
    /// Keys that are evaluated, from `first` on.
    pub keys: u32,
    /// Keeps the record free of padding; zero.
    pub reserved: [u32; 3],
}

sizes!(CmpAllParams { bits, party, count, first, keys });

/// Generation of a batch of comparison keys with payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct DcfGenParams {
    /// Public AES keys of the tree and of the value blocks.
    pub keys: PrgKeys,
    /// Width n of points, 1 to 64.
    pub bits: u32,
    /// Keys in the batch.
    pub count: u32,
    /// Payload words L, 1 to [`MAX_PAYLOAD_WORDS`](crate::MAX_PAYLOAD_WORDS).
    pub words: u32,
    /// Width w of payload words, 1 to 64: results are modulo 2^w.
    pub width: u32,
}

sizes!(DcfGenParams { bits, count, words, width });

/// Evaluation of a batch of comparison keys with payload at clustered points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct DcfWindowParams {
    /// Public AES keys of the tree and of the value blocks.
    pub keys: PrgKeys,
    /// Width n of points, 1 to 64.
    pub bits: u32,
    /// Party whose shares are evaluated, 0 or 1.
    pub party: u32,
    /// Keys in the batch.
    pub count: u32,
    /// Offsets, and points per key.
    pub points: u32,
    /// Payload words L, 1 to [`MAX_PAYLOAD_WORDS`](crate::MAX_PAYLOAD_WORDS).
    pub words: u32,
    /// Width w of payload words, 1 to 64: results are modulo 2^w.
    pub width: u32,
    /// Width of the [`Window`](crate::Window) that holds the points of a key, 0 to n.
    ///
    /// A window of all n bits asks nothing of the points.
    pub window: u32,
    /// Keeps the record free of padding; zero.
    pub reserved: u32,
}

sizes!(DcfWindowParams { bits, party, count, points, words, width, window });

/// Expansion of a secret seed: AES-128 in counter mode (NIST SP 800-38A, section 6.5).
///
/// Key and counter are secret, so `Debug` shows only the sizes. Callers wipe their record.
#[derive(Clone, Copy, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct SeedParams {
    /// Secret AES key.
    pub key: AesKey,
    /// Secret counter of the first block; each row begins 2^64 blocks after the row before it.
    pub first: u128,
    /// Masks of the low and the high word of every block.
    pub mask: [u64; 2],
    /// Rows.
    pub rows: u32,
    /// Blocks of a row.
    pub blocks: u32,
    /// Keeps the record free of padding; zero.
    pub reserved: [u32; 2],
}

sizes!(SeedParams { rows, blocks });

impl SeedParams {
    /// The counter of `block` in `row`, `first` + 2^64 `row` + `block` modulo 2^128.
    ///
    /// Counters are big-endian; the result is the little-endian reading of the 16 bytes, as
    /// [`Encrypt`](crate::Encrypt) takes them.
    #[inline]
    #[must_use]
    pub const fn counter(&self, row: u32, block: u32) -> u128 {
        let [low, high] = block_words(self.first);
        let (low, carry) = low.overflowing_add(block as u64);
        let high = high.wrapping_add(row as u64).wrapping_add(carry as u64);
        (low.swap_bytes() as u128) << 64 | high.swap_bytes() as u128
    }

    /// The masked words of an encrypted counter, low half first.
    #[inline]
    #[must_use]
    pub const fn words(&self, encrypted: u128) -> [u64; 2] {
        let [low, high] = block_words(encrypted);
        [low & self.mask[0], high & self.mask[1]]
    }
}

impl DefaultIsZeroes for SeedParams {}

impl fmt::Debug for SeedParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SeedParams").field("rows", &self.rows).field("blocks", &self.blocks).finish_non_exhaustive()
    }
}

/// Packing of ring elements into a bit stream, or back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct PackParams {
    /// Elements.
    pub count: u32,
    /// Bits k of an element, 1 to 64.
    pub bits: u32,
}

sizes!(PackParams { count, bits });

/// Keys of a batch, rounded up to the 32 that one output word covers.
#[inline]
#[must_use]
pub const fn padded(count: u32) -> usize {
    (count as usize).div_ceil(32) * 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cipher::aes::Encrypt as _;

    #[test]
    fn counters_are_big_endian_and_rows_lie_2_to_64_blocks_apart() {
        let corners = [0, 1, (1 << 64) - 2, (1 << 64) - 1, 1 << 64, u128::MAX - 2, u128::MAX];
        for first in corners {
            let params = SeedParams { first, ..SeedParams::default() };
            for row in [0, 1, u32::MAX] {
                for block in [0, 1, 2, u32::MAX] {
                    let expected = first.wrapping_add(u128::from(row) << 64).wrapping_add(u128::from(block));
                    assert_eq!(
                        params.counter(row, block).to_le_bytes(),
                        expected.to_be_bytes(),
                        "{first} {row} {block}"
                    );
                }
            }
        }
    }

    /// NIST SP 800-38A, F.5.1: key, first counter, and output blocks.
    #[test]
    fn key_streams_are_the_published_ones() {
        let key = AesKey::new(0x2b7e_1516_28ae_d2a6_abf7_1588_09cf_4f3c_u128.to_be_bytes());
        let first = 0xf0f1_f2f3_f4f5_f6f7_f8f9_fafb_fcfd_feff;
        let params = SeedParams { key, first, mask: [u64::MAX; 2], ..SeedParams::default() };
        let stream: [u128; 2] = [0xec8c_df73_9860_7cb0_f2d2_1675_ea9e_a1e4, 0x362b_7c3c_6773_5163_18a0_77d7_fc50_73ae];
        for (block, expected) in stream.into_iter().enumerate() {
            let encrypted = key.encrypt(params.counter(0, block as u32));
            assert_eq!(encrypted.to_le_bytes(), expected.to_be_bytes());
            assert_eq!(params.words(encrypted), block_words(encrypted));
            let masked = SeedParams { mask: [!3, 511], ..params };
            assert_eq!(masked.words(encrypted), [encrypted as u64 & !3, (encrypted >> 64) as u64 & 511]);
        }
    }
}
