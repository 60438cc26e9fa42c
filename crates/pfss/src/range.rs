//! Ranges of signed values, and the proof that one leaves a gap in its ring.

use core_types::Ring;
use thiserror::Error;

/// A closed interval of integers that a signed value provably lies in.
///
/// The arithmetic on intervals keeps them proofs.
///
/// Every method returns an interval that holds all results of the operation on all operands; an end
/// that leaves `i64` is an error and never wraps.
///
/// ```
/// use pfss::SignedRange;
///
/// // A dot product of 64 pixels in 0..=16 with weights of magnitude at most 2^14.
/// let sum = SignedRange::new(0, 16)?.checked_mul(SignedRange::new(-(1 << 14), 1 << 14)?)?.sum_of(64)?;
/// assert_eq!(sum.max(), 1 << 24);
/// let cert = sum.gap_cert(64)?;
/// # Ok::<(), pfss::RangeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignedRange {
    min: i64,
    max: i64,
}

/// A range that is empty, leaves 64 bits or is too wide for a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RangeError {
    /// The lower end is above the upper end.
    #[error("range {min}..={max} is empty")]
    Empty {
        /// Lower end.
        min: i64,
        /// Upper end.
        max: i64,
    },
    /// An end of the result does not fit the signed integers of the given width.
    #[error("range end {end} does not fit {bits} signed bits")]
    Overflow {
        /// The width.
        bits: u32,
        /// The end, exact up to saturation at 128 bits.
        end: i128,
    },
    /// The range is not inside the quarter ring `-2^(n-2) .. 2^(n-2)`.
    #[error("expected a range within -2^{exp}..2^{exp} for ring width {n}, got {min}..={max}", exp = n.saturating_sub(2))]
    NoGap {
        /// Ring width in bits.
        n: u32,
        /// Lower end.
        min: i64,
        /// Upper end.
        max: i64,
    },
    /// A range that has to lie within another does not.
    #[error("expected a range within {}..={}, got {}..={}", outer.0, outer.1, inner.0, inner.1)]
    Outside {
        /// Ends of the outer range.
        outer: (i64, i64),
        /// Ends of the range that is not within.
        inner: (i64, i64),
    },
    /// The shift is not below 64.
    #[error("expected a shift below 64, got {f}")]
    Shift {
        /// The requested shift.
        f: u32,
    },
}

impl SignedRange {
    /// The interval `min..=max`.
    ///
    /// # Errors
    /// [`RangeError::Empty`] if `min > max`.
    pub const fn new(min: i64, max: i64) -> Result<Self, RangeError> {
        if min > max { Err(RangeError::Empty { min, max }) } else { Ok(Self { min, max }) }
    }

    /// All signed integers of `n` bits, `1 <= n <= 64`.
    ///
    /// Other widths count as the nearest of these.
    #[must_use]
    pub const fn of_bits(n: u32) -> Self {
        let unused = if n == 0 || n > 64 { (n == 0) as u32 * 63 } else { 64 - n };
        Self { min: i64::MIN >> unused, max: i64::MAX >> unused }
    }

    /// The lower end.
    #[must_use]
    pub const fn min(self) -> i64 {
        self.min
    }

    /// The upper end.
    #[must_use]
    pub const fn max(self) -> i64 {
        self.max
    }

    /// All sums `a + b`.
    ///
    /// # Errors
    /// [`RangeError::Overflow`].
    pub fn checked_add(self, rhs: Self) -> Result<Self, RangeError> {
        Self::from_wide(i128::from(self.min) + i128::from(rhs.min), i128::from(self.max) + i128::from(rhs.max))
    }

    /// All differences `a - b`.
    ///
    /// # Errors
    /// [`RangeError::Overflow`].
    pub fn checked_sub(self, rhs: Self) -> Result<Self, RangeError> {
        Self::from_wide(i128::from(self.min) - i128::from(rhs.max), i128::from(self.max) - i128::from(rhs.min))
    }

    /// Checks that every value is a signed integer of `n` bits.
    ///
    /// Arithmetic modulo `2^n` is then exact on the range.
    ///
    /// # Errors
    /// [`RangeError::Overflow`] with the end that does not fit.
    pub fn fits(self, n: u32) -> Result<(), RangeError> {
        let half = 1i128 << n.saturating_sub(1).min(63);
        match [self.min, self.max].map(i128::from).into_iter().find(|&end| end < -half || end >= half) {
            Some(end) => Err(RangeError::Overflow { bits: n, end }),
            None => Ok(()),
        }
    }

    /// The smallest width whose signed integers include every value.
    ///
    /// A key has to compare only these bits, if this range is proven.
    ///
    /// ```
    /// use pfss::SignedRange;
    ///
    /// assert_eq!(SignedRange::new(-128, 127)?.bits(), 8);
    /// assert_eq!(SignedRange::new(0, 128)?.bits(), 9);
    /// # Ok::<(), pfss::RangeError>(())
    /// ```
    #[must_use]
    pub const fn bits(self) -> u32 {
        // a value and its complement need the same width
        let magnitude = (self.min ^ (self.min >> 63)) | (self.max ^ (self.max >> 63));
        65 - magnitude.leading_zeros()
    }

    /// All products `a * b`.
    ///
    /// # Errors
    /// [`RangeError::Overflow`].
    pub fn checked_mul(self, rhs: Self) -> Result<Self, RangeError> {
        let wide = |a: i64, b: i64| i128::from(a) * i128::from(b); // |a * b| <= 2^126
        let ends = [wide(self.min, rhs.min), wide(self.min, rhs.max), wide(self.max, rhs.min), wide(self.max, rhs.max)];
        let fold = |pick: fn(i128, i128) -> i128| ends[1..].iter().fold(ends[0], |a, &b| pick(a, b));
        Self::from_wide(fold(i128::min), fold(i128::max))
    }

    /// All sums of `terms` values from the range.
    ///
    /// # Errors
    /// [`RangeError::Overflow`].
    pub fn sum_of(self, terms: u32) -> Result<Self, RangeError> {
        let terms = i128::from(terms);
        Self::from_wide(i128::from(self.min) * terms, i128::from(self.max) * terms)
    }

    /// All values `floor(a / 2^f)`.
    ///
    /// # Errors
    /// [`RangeError::Shift`] from 64 on.
    pub const fn floor_shift(self, f: u32) -> Result<Self, RangeError> {
        if f > 63 { Err(RangeError::Shift { f }) } else { Ok(Self { min: self.min >> f, max: self.max >> f }) }
    }

    /// The smallest range that holds both.
    #[must_use]
    pub fn hull(self, rhs: Self) -> Self {
        Self { min: self.min.min(rhs.min), max: self.max.max(rhs.max) }
    }

    /// Whether `inner` lies within this range.
    ///
    /// # Errors
    /// [`RangeError::Outside`] if it does not.
    pub const fn holds(self, inner: Self) -> Result<(), RangeError> {
        if self.min <= inner.min && inner.max <= self.max {
            return Ok(());
        }
        Err(RangeError::Outside { outer: (self.min, self.max), inner: (inner.min, inner.max) })
    }

    /// All values `max(a, 0)`.
    #[must_use]
    pub fn relu(self) -> Self {
        Self { min: self.min.max(0), max: self.max.max(0) }
    }

    /// The proof that the range stays in the inner half of the ring of `n` bits.
    ///
    /// The inner half is `-2^(n-2) <= x < 2^(n-2)`.
    ///
    /// # Errors
    /// [`RangeError::NoGap`] if it does not, or if the ring has fewer than 3 or more than 64 bits.
    pub fn gap_cert(self, n: u32) -> Result<GapCert, RangeError> {
        let no_gap = RangeError::NoGap { n, min: self.min, max: self.max };
        if n > 64 {
            return Err(no_gap);
        }
        let quarter = match n.checked_sub(2) {
            Some(exp @ 1..) => 1i64 << exp, // exp <= 62
            _ => return Err(no_gap),
        };
        if -quarter <= self.min && self.max < quarter { Ok(GapCert { n, range: self }) } else { Err(no_gap) }
    }

    /// The fewest bits of a ring in which the range leaves a [gap](Self::gap_cert).
    ///
    /// `None` if it takes more than 64 bits.
    ///
    /// ```
    /// use pfss::SignedRange;
    ///
    /// let range = SignedRange::new(-128, 127)?;
    /// assert_eq!(range.gap_bits(), Some(9));
    /// assert!(range.gap_cert(9).is_ok() && range.gap_cert(8).is_err());
    /// # Ok::<(), pfss::RangeError>(())
    /// ```
    #[must_use]
    pub const fn gap_bits(self) -> Option<u32> {
        match self.bits() {
            0..2 => Some(3),
            bits @ 2..64 => Some(bits + 1),
            _ => None,
        }
    }

    /// The interval `min..=max`, if its ends fit.
    pub(crate) fn from_wide(min: i128, max: i128) -> Result<Self, RangeError> {
        let narrow = |end: i128| i64::try_from(end).map_err(|_| RangeError::Overflow { bits: 64, end });
        Self::new(narrow(min)?, narrow(max)?)
    }
}

/// Proof that a secret `x` of an `n`-bit ring satisfies `-2^(n-2) <= x < 2^(n-2)`.
///
/// With this gap, an arithmetic shift needs no full comparison.
///
/// Built only from a [`SignedRange`]. Outside its range the shift is wrong by `2^(n-f)`, with
/// nothing to show it, so measured extremes or expectations are no substitute for a bound on every
/// possible input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GapCert {
    n: u32,
    range: SignedRange,
}

impl GapCert {
    /// The ring width that the proof is for.
    #[must_use]
    pub const fn n(&self) -> u32 {
        self.n
    }

    /// The proven range.
    #[must_use]
    pub const fn range(&self) -> SignedRange {
        self.range
    }

    /// Whether the representative `x` of `ring` lies in the proven range.
    #[must_use]
    pub const fn holds(&self, ring: Ring, x: u64) -> bool {
        let x = ring.signed(x);
        self.range.min <= x && x <= self.range.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_one_step_outside_the_gap_gets_no_certificate() {
        for n in 3..=64u32 {
            let quarter = 1i64 << (n - 2);
            assert!(SignedRange::new(-quarter, quarter - 1).unwrap().gap_cert(n).is_ok());
            for (min, max) in [(-quarter - 1, 0), (0, quarter)] {
                let refused = SignedRange::new(min, max).unwrap().gap_cert(n);
                assert_eq!(refused, Err(RangeError::NoGap { n, min, max }));
                let wider = (n < 64).then_some(n + 1);
                assert_eq!(SignedRange::new(min, max).unwrap().gap_bits(), wider);
            }
            for (min, max) in [(-quarter, quarter - 1), (-quarter, -1), (0, quarter - 1)] {
                assert_eq!(SignedRange::new(min, max).unwrap().gap_bits(), Some(n));
            }
        }
        assert_eq!([-1, 0].map(|value| SignedRange::new(value, value).unwrap().gap_bits()), [Some(3); 2]);
        for n in [0, 1, 2, 65] {
            assert!(SignedRange::new(0, 0).unwrap().gap_cert(n).is_err());
        }
    }

    #[test]
    fn arithmetic_encloses_every_result_of_small_ranges() {
        for (a, b, c, d) in [(-5, 3, -2, 7), (-5, -3, -4, -1), (0, 4, -6, 0), (2, 6, 3, 3)] {
            let (left, right) = (SignedRange::new(a, b).unwrap(), SignedRange::new(c, d).unwrap());
            let (sum, product) = (left.checked_add(right).unwrap(), left.checked_mul(right).unwrap());
            for x in a..=b {
                for y in c..=d {
                    let difference = left.checked_sub(right).unwrap();
                    assert!(difference.min() <= x - y && x - y <= difference.max());
                    assert!(sum.min() <= x + y && x + y <= sum.max());
                    assert!(product.min() <= x * y && x * y <= product.max());
                }
                let shifted = left.floor_shift(1).unwrap();
                assert!(shifted.min() <= x >> 1 && x >> 1 <= shifted.max());
                assert!(left.relu().min() <= x.max(0) && x.max(0) <= left.relu().max());
            }
        }
    }

    #[test]
    fn ends_beyond_64_bits_are_refused() {
        let wide = SignedRange::new(i64::MIN, i64::MAX).unwrap();
        assert_eq!(wide.checked_add(wide), Err(RangeError::Overflow { bits: 64, end: 2 * i128::from(i64::MIN) }));
        assert_eq!(SignedRange::new(-5, 3).unwrap().sum_of(4), SignedRange::new(-20, 12));
        assert!(matches!(wide.checked_mul(wide), Err(RangeError::Overflow { .. })));
        assert!(matches!(wide.sum_of(2), Err(RangeError::Overflow { .. })));
        assert_eq!(wide.floor_shift(64), Err(RangeError::Shift { f: 64 }));
        assert!(SignedRange::new(-128, 127).unwrap().fits(8).is_ok());
        for end in [-129, 128] {
            let refused = SignedRange::new(end.min(0), end.max(0)).unwrap().fits(8);
            assert_eq!(refused, Err(RangeError::Overflow { bits: 8, end: end.into() }));
        }
        for k in 1..=64u32 {
            let (min, max) = (SignedRange::of_bits(k).min(), SignedRange::of_bits(k).max());
            assert_eq!((i128::from(min), i128::from(max)), (-(1i128 << (k - 1)), (1i128 << (k - 1)) - 1));
            for (min, max) in [(min, max), (min, 0), (0, max), (max, max), (min, min)] {
                let range = SignedRange::new(min, max).unwrap();
                assert!(range.bits() <= k && range.fits(range.bits()).is_ok(), "{min} to {max}");
                assert!(range.bits() == 1 || range.fits(range.bits() - 1).is_err(), "{min} to {max}");
            }
        }
        assert!(wide.fits(64).is_ok() && matches!(wide.checked_sub(wide), Err(RangeError::Overflow { .. })));
        assert_eq!(SignedRange::new(1, 0), Err(RangeError::Empty { min: 1, max: 0 }));
    }
}
