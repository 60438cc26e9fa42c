//! Factors stored doubled, so that products with them reduce in fewer steps.

use core::fmt;

use bytemuck::{CheckedBitPattern, NoUninit, Zeroable};

use super::{
    M31, P,
    wide::{widening_mul, widening_mul_add},
};

/// A factor used in many products, stored as the doubled word `2 t`.
///
/// Invariant: the word is even and below `2 P`.
///
/// Doubling moves a product's quotient by 2^31 into its high 32 bits ([`M31::times_twiddle`]). A
/// separate type keeps doubled words out of code that expects plain ones.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Twiddle(u32);

impl Twiddle {
    /// The factor `t`.
    #[inline]
    #[must_use]
    pub const fn new(t: M31) -> Self {
        Self(2 * t.word()) // t < 2^31, so no wrap
    }

    /// The factor itself.
    #[inline]
    #[must_use]
    pub const fn factor(self) -> M31 {
        M31::from_u32(self.0 >> 1)
    }

    /// The doubled word.
    #[inline]
    #[must_use]
    pub const fn word(self) -> u32 {
        self.0
    }

    /// The factor `-t`.
    #[inline]
    #[must_use]
    pub const fn negated(self) -> Self {
        if self.0 == 0 { self } else { Self(2 * P - self.0) }
    }
}

impl M31 {
    /// `self * t`, without a 64-bit shift or mask.
    ///
    /// The doubled twiddle puts the quotient by 2^31 in the high word.
    #[inline]
    #[must_use]
    pub const fn times_twiddle(self, t: Twiddle) -> Self {
        let (low, high) = widening_mul(self.word(), t.word()); // 2 * self * t
        Self::reduced_once(high + (low >> 1)) // (P - 2) + P < 2^32
    }

    /// `self + rhs * t`, the addition riding in the 64-bit product.
    #[inline]
    #[must_use]
    pub fn plus_product(self, rhs: Self, t: Twiddle) -> Self {
        // 2 (self + rhs * t) <= 2 (P - 1) P, so the high word is at most P - 2
        let wide = widening_mul_add(rhs.word(), t.word(), 2 * u64::from(self.word()));
        Self::reduced_once((wide >> 32) as u32 + (wide as u32 >> 1))
    }

    /// `(self + rhs * t, self - rhs * t)`, with one product.
    ///
    /// A GPU multiplies words at half its rate of additions.
    #[inline]
    #[must_use]
    pub const fn butterfly(self, rhs: Self, t: Twiddle) -> (Self, Self) {
        let product = rhs.times_twiddle(t);
        (self.plus(product), self.minus(product))
    }

    /// `(self + rhs, (self - rhs) * t)`.
    ///
    /// It is twice the inverse of a [`butterfly`](Self::butterfly) by `1 / t`.
    #[inline]
    #[must_use]
    pub const fn inverse_butterfly(self, rhs: Self, t: Twiddle) -> (Self, Self) {
        (self.plus(rhs), self.minus(rhs).times_twiddle(t))
    }
}

impl fmt::Debug for Twiddle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Twiddle({})", self.factor())
    }
}

// SAFETY: zero is even and below 2 P.
unsafe impl Zeroable for Twiddle {}

// SAFETY: one transparent u32, no padding.
unsafe impl NoUninit for Twiddle {}

// SAFETY: `Bits` has the layout of the transparent word, and the check is the type's invariant.
unsafe impl CheckedBitPattern for Twiddle {
    type Bits = u32;

    #[inline]
    fn is_valid_bit_pattern(bits: &u32) -> bool {
        bits.is_multiple_of(2) && *bits < 2 * P
    }
}
