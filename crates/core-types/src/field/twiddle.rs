//! Factors stored doubled, so that products with them reduce in fewer steps.

use core::fmt;

use bytemuck::{CheckedBitPattern, NoUninit, Zeroable};

use super::{M31, P};

/// A factor of many products, stored as the doubled word `2 t`. Invariant: the word is even and below `2 P`.
///
/// Doubling moves the quotient by 2^31 of a product to its high 32 bits ([`M31::times_twiddle`]). It is a type of its
/// own so that a doubled word never meets code that expects a plain one.
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
