//! From an opened masked bit `w = b ^ c` to additive shares that depend on the secret bit `b`.
//!
//! The dealer hands out additive shares of `c` and of products with `c`; since `b = w + (1 - 2w) c` and `w` is public
//! once opened, each conversion is linear in those shares. Every opened bit needs its own uniform `c`.

use core_types::Ring;

use crate::Party;

/// `w` or `-w + ...`: the factor `1 - 2w` of a public bit.
fn flip(ring: Ring, w: u64, share: u64) -> u64 {
    // w is 0 or 1: share, or its negative
    ring.reduce((share ^ w.wrapping_neg()).wrapping_add(w))
}

/// The share of `b`: `w + (1 - 2w) [c]`. `w` is the opened bit, 0 or 1.
#[must_use]
pub fn bit(ring: Ring, party: Party, w: u64, c: u64) -> u64 {
    ring.add(party.public(w), flip(ring, w, c))
}

/// The share of `b v` for a value `v` that the dealer knows: `w [v] + (1 - 2w) [c v]`.
#[must_use]
pub fn bit_times_word(ring: Ring, w: u64, v: u64, c_v: u64) -> u64 {
    ring.add(v & w.wrapping_neg(), flip(ring, w, c_v))
}

/// The share of `b x` for `x = x_hat - r` with public `x_hat`: `w (x_hat - [r]) + (1 - 2w) (x_hat [c] - [c r])`.
#[must_use]
pub fn bit_times_masked(ring: Ring, party: Party, w: u64, x_hat: u64, r: u64, c: u64, c_r: u64) -> u64 {
    let x = ring.sub(party.public(x_hat), r);
    let c_x = ring.sub(x_hat.wrapping_mul(c), c_r);
    bit_times_word(ring, w, x, c_x)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shares of `value`, one for each of a few values of party 0's share.
    fn splits(ring: Ring, value: u64) -> impl Iterator<Item = [u64; 2]> {
        [0, 1, 0x55, ring.mask()].into_iter().map(move |share| [share, ring.sub(value, share)])
    }

    #[test]
    fn every_bit_and_mask_reconstructs_the_bit_and_its_products() {
        let ring = Ring::new(8).unwrap();
        for (b, c) in [(0u64, 0u64), (0, 1), (1, 0), (1, 1)] {
            let w = b ^ c;
            for cs in splits(ring, c) {
                let shares = Party::BOTH.map(|p| bit(ring, p, w, cs[p.index()]));
                assert_eq!(ring.add(shares[0], shares[1]), b);
            }
            for v in 0..=0xff {
                for (vs, cvs) in splits(ring, v).zip(splits(ring, c * v)) {
                    let shares = [0, 1].map(|p| bit_times_word(ring, w, vs[p], cvs[p]));
                    assert_eq!(ring.add(shares[0], shares[1]), b * v);
                }
            }
        }
    }

    #[test]
    fn a_bit_times_a_masked_value_is_right_for_all_values_and_masks() {
        let ring = Ring::new(8).unwrap();
        for (b, c) in [(0u64, 0u64), (0, 1), (1, 0), (1, 1)] {
            for x in 0..=0xffu64 {
                for r in 0..=0xffu64 {
                    let (w, x_hat) = (b ^ c, ring.add(x, r));
                    let (rs, cs, crs) = ([3, ring.sub(r, 3)], [200, ring.sub(c, 200)], [77, ring.sub(c * r, 77)]);
                    let shares = Party::BOTH.map(|p| {
                        let i = p.index();
                        bit_times_masked(ring, p, w, x_hat, rs[i], cs[i], crs[i])
                    });
                    assert_eq!(ring.add(shares[0], shares[1]), b * x);
                }
            }
        }
    }
}
