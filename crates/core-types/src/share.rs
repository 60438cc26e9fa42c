//! Local arithmetic on shares with public factors.
//!
//! It forms the sums of [`BitTerm`] and [`WordTerm`].
//!
//! A word term is `constant X^power s` with `X = ((x + offset) mod 2^bits) >> shift`. `s` is `[v]`
//! or, for an opened bit `w = b ^ c`, the share `w [v] + (1 - 2w) [c v]` of `b v`. A public bit
//! term is `1[(x + shift) mod 2^bits < bound]`, added by party 0.

use crate::params::share::{BitTerm, LinearWordsParams, NO_ROW, ONE_ROW, Threshold, WordParams, WordTerm};

impl Threshold {
    /// 1 if the shifted word is below the bound, else 0; 0 without a comparison.
    #[inline]
    #[must_use]
    pub const fn bit(&self, x: u64) -> u32 {
        if self.bits == 0 {
            return 0;
        }
        let mask = u64::MAX >> (64u32.wrapping_sub(self.bits) & 63);
        (x.wrapping_add(self.shift) & mask < self.bound) as u32
    }

    /// Whether the comparison comes out as wanted, or there is none.
    #[inline]
    #[must_use]
    pub const fn holds(&self, x: u64) -> bool {
        self.bits == 0 || self.bit(x) == self.wanted
    }
}

impl BitTerm {
    /// The public bit of the term as `party` adds it.
    #[inline]
    #[must_use]
    pub const fn public_bit(&self, party: u32, x: u64) -> u32 {
        if party == 0 { self.public.bit(x) } else { 0 }
    }
}

impl WordParams {
    /// The variable of the sums.
    #[inline]
    #[must_use]
    pub const fn variable(&self, x: u64) -> u64 {
        let mask = u64::MAX >> (64u32.wrapping_sub(self.bits) & 63);
        (x.wrapping_add(self.offset) & mask) >> (self.shift & 63)
    }

    /// A sum as a word of the results.
    #[inline]
    #[must_use]
    pub const fn reduce(&self, sum: u64) -> u64 {
        sum & u64::MAX >> (64u32.wrapping_sub(self.width) & 63)
    }
}

impl LinearWordsParams {
    /// The result for a word of x and a word of the row, 0 without a row.
    #[inline]
    #[must_use]
    pub const fn sum(&self, x: u64, row: u64) -> u64 {
        let [x, row] = [self.alpha.wrapping_mul(x), self.beta.wrapping_mul(row)];
        let sum = x.wrapping_add(row).wrapping_add(self.constant);
        sum & u64::MAX >> (64u32.wrapping_sub(self.bits) & 63)
    }
}

impl WordTerm {
    /// Whether the term counts for an element with public word `x` and bits `opened(row)`.
    #[inline]
    pub fn counts(&self, x: u64, opened: impl Fn(u32) -> u64) -> bool {
        self.when.holds(x) && (self.given == NO_ROW || opened(self.given) == u64::from(self.is))
    }

    /// The share s of the term, from opened bits and this party's words.
    ///
    /// `opened(row)` is an opened bit, 0 or 1; `word(row)` is a word. No branch depends on a word.
    #[inline]
    pub fn share(&self, party: u32, opened: impl Fn(u32) -> u64, word: impl Fn(u32) -> u64) -> u64 {
        let share = |row: u32| match row {
            NO_ROW => 0,
            ONE_ROW => u64::from(1u32.wrapping_sub(party)),
            row => word(row),
        };
        if self.opened == NO_ROW {
            return share(self.value);
        }
        let flip = opened(self.opened).wrapping_neg();
        // (1 - 2w) [product] + w [value]
        (share(self.product) ^ flip).wrapping_sub(flip).wrapping_add(share(self.value) & flip)
    }

    /// `constant X^power`.
    #[inline]
    #[must_use]
    pub const fn factor(&self, variable: u64) -> u64 {
        let (mut factor, mut power) = (self.constant, self.power);
        while power > 0 {
            factor = factor.wrapping_mul(variable);
            power -= 1;
        }
        factor
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::Ring;

    #[test]
    fn thresholds_are_comparisons_in_their_ring() {
        for bits in [1, 2, 5, 8] {
            let ring = Ring::new(bits).unwrap();
            for (shift, x) in (0..=ring.mask()).flat_map(|shift| (0..300).map(move |x| (shift, x))) {
                for bound in 0..=ring.mask() + 1 {
                    let threshold = Threshold { shift, bound, bits, wanted: 1 };
                    assert_eq!(threshold.holds(x), (shift + x) % (1 << bits) < bound);
                    assert_eq!(Threshold { wanted: 0, ..threshold }.holds(x), !threshold.holds(x));
                }
            }
        }
        let whole = Threshold { shift: 1, bound: 1, bits: 64, wanted: 1 };
        assert!(whole.holds(u64::MAX) && !whole.holds(0));
        assert!(Threshold::default().holds(7));
        assert_eq!(Threshold::default().bit(7), 0);
    }

    #[test]
    fn an_opened_bit_selects_for_every_bit_mask_and_split() {
        let term = WordTerm { value: 0, product: 1, opened: 0, power: 2, constant: 3, ..WordTerm::NONE };
        for (b, c) in [(0u64, 0u64), (0, 1), (1, 0), (1, 1)] {
            for v in [0, 1, 2, u64::MAX, 1 << 63] {
                for split in [0, 1, 0x55, u64::MAX] {
                    let rows = |party: u64, row: u32| {
                        let secret = if row == 0 { v } else { c * v };
                        if party == 0 { split } else { secret.wrapping_sub(split) }
                    };
                    let shares = [0, 1].map(|p| term.share(p, |_| b ^ c, |row| rows(p.into(), row)));
                    assert_eq!(shares[0].wrapping_add(shares[1]), b * v);
                }
            }
        }
        assert_eq!(term.factor(5), 75);
        let one = WordTerm { value: ONE_ROW, ..WordTerm::NONE };
        assert_eq!([0, 1].map(|p| one.share(p, |_| 0, |_| 9)), [1, 0]);
    }
}
