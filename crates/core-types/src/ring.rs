//! Arithmetic modulo 2^n for n up to 64.

use core::num::NonZeroU32;

/// The ring of integers modulo 2^n, 1 <= n <= 64, on unsigned representatives in `u64`.
///
/// Results are always below 2^n. Arguments may be any `u64`; they stand for their residue.
///
/// ```
/// use core_types::Ring;
///
/// let ring = Ring::new(12).ok_or("a ring has 1 to 64 bits")?;
/// assert_eq!(ring.add(0xfff, 2), 1);
/// assert_eq!(ring.signed(0xfff), -1);
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Ring {
    bits: NonZeroU32,
}

impl Ring {
    /// The ring of `bits` bits, or `None` unless 1 <= `bits` <= 64.
    #[inline]
    #[must_use]
    pub const fn new(bits: u32) -> Option<Self> {
        match NonZeroU32::new(bits) {
            Some(nonzero) if bits <= 64 => Some(Self { bits: nonzero }),
            _ => None,
        }
    }

    /// The width n.
    #[inline]
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.bits.get()
    }

    /// The greatest representative, 2^n - 1.
    #[inline]
    #[must_use]
    pub const fn mask(self) -> u64 {
        // n >= 1, so the shift is at most 63
        u64::MAX >> (64 - self.bits())
    }

    /// The representative of `x`.
    #[inline]
    #[must_use]
    pub const fn reduce(self, x: u64) -> u64 {
        x & self.mask()
    }

    /// x + y.
    #[inline]
    #[must_use]
    pub const fn add(self, x: u64, y: u64) -> u64 {
        self.reduce(x.wrapping_add(y))
    }

    /// x - y.
    #[inline]
    #[must_use]
    pub const fn sub(self, x: u64, y: u64) -> u64 {
        self.reduce(x.wrapping_sub(y))
    }

    /// -x.
    #[inline]
    #[must_use]
    pub const fn neg(self, x: u64) -> u64 {
        self.reduce(x.wrapping_neg())
    }

    /// x * y.
    #[inline]
    #[must_use]
    pub const fn mul(self, x: u64, y: u64) -> u64 {
        self.reduce(x.wrapping_mul(y))
    }

    /// The most significant bit of the representative, 0 or 1.
    ///
    /// It is the sign in two's complement.
    #[inline]
    #[must_use]
    pub const fn msb(self, x: u64) -> u64 {
        (x >> (self.bits() - 1)) & 1
    }

    /// The two's complement reading, in -2^(n-1) .. 2^(n-1).
    #[inline]
    #[must_use]
    pub const fn signed(self, x: u64) -> i64 {
        let unused = 64 - self.bits();
        ((x << unused) as i64) >> unused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_outside_1_to_64_are_refused() {
        assert_eq!(Ring::new(0), None);
        assert_eq!(Ring::new(65), None);
        assert_eq!(Ring::new(u32::MAX), None);
    }

    #[test]
    fn every_operation_agrees_with_wide_integers_at_every_width() {
        let samples = [0, 1, 2, 3, 0x7f, 0x80, 1 << 31, 1 << 62, 1 << 63, (1 << 63) - 1, u64::MAX - 1, u64::MAX];
        for bits in 1..=64 {
            let ring = Ring::new(bits).unwrap();
            let modulus = 1i128 << bits;
            assert_eq!(i128::from(ring.mask()), modulus - 1);
            let residue = |x: i128| x.rem_euclid(modulus) as u64;
            for x in samples {
                let wide = i128::from(x);
                assert_eq!(ring.reduce(x), residue(wide));
                assert_eq!(ring.neg(x), residue(-wide));
                assert_eq!(ring.msb(x) == 1, i128::from(ring.reduce(x)) >= modulus / 2);
                let signed = i128::from(ring.signed(x));
                assert!(signed >= -modulus / 2 && signed < modulus / 2 && residue(signed) == ring.reduce(x));
                for y in samples {
                    let other = i128::from(y);
                    assert_eq!(ring.add(x, y), residue(wide + other));
                    assert_eq!(ring.sub(x, y), residue(wide - other));
                    assert_eq!(ring.mul(x, y), residue(wide.rem_euclid(modulus).wrapping_mul(other % modulus)));
                }
            }
        }
    }
}
