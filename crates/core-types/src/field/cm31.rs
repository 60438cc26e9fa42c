//! The complex extension of M31, of degree 2.

use core::{
    fmt,
    ops::{Add, Mul, Neg, Sub},
};

use bytemuck::{CheckedBitPattern, NoUninit, Zeroable};

use super::{Field, M31, P, assign_ops, wide::widening_mul_add};

/// An element `a + b i` of GF(P^2), `i^2 = -1`.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct CM31 {
    /// Real part.
    pub a: M31,
    /// Imaginary part.
    pub b: M31,
}

impl CM31 {
    /// Zero.
    pub const ZERO: Self = Self::new(M31::ZERO, M31::ZERO);
    /// One.
    pub const ONE: Self = Self::new(M31::ONE, M31::ZERO);

    /// `a + b i`.
    #[inline]
    #[must_use]
    pub const fn new(a: M31, b: M31) -> Self {
        Self { a, b }
    }

    /// `self * factor`.
    #[inline]
    #[must_use]
    pub fn scale(self, factor: M31) -> Self {
        Self::new(self.a * factor, self.b * factor)
    }

    /// `a - b i`.
    #[inline]
    #[must_use]
    pub fn conjugate(self) -> Self {
        Self::new(self.a, -self.b)
    }

    /// The inverse, or `None` for zero.
    #[inline]
    #[must_use]
    pub fn inverse(self) -> Option<Self> {
        // a^2 + b^2 vanishes at zero alone, since -1 is no square mod P.
        let norm = self.a * self.a + self.b * self.b;
        norm.inverse().map(|inverse| self.conjugate().scale(inverse))
    }
}

impl Add for CM31 {
    type Output = Self;
    #[inline]
    fn add(self, rhs: Self) -> Self {
        Self::new(self.a + rhs.a, self.b + rhs.b)
    }
}

impl Sub for CM31 {
    type Output = Self;
    #[inline]
    fn sub(self, rhs: Self) -> Self {
        Self::new(self.a - rhs.a, self.b - rhs.b)
    }
}

impl Neg for CM31 {
    type Output = Self;
    #[inline]
    fn neg(self) -> Self {
        Self::new(-self.a, -self.b)
    }
}

impl Mul for CM31 {
    type Output = Self;
    #[inline]
    fn mul(self, rhs: Self) -> Self {
        let [a, b, c, d] = [self.a, self.b, rhs.a, rhs.b].map(M31::word);
        let add = widening_mul_add;
        // Opposites keep the sums positive; each is at most 2 P^2 < 2^63.
        Self::new(M31::from_u64(add(a, c, add(b, rhs.b.opposite(), 0))), M31::from_u64(add(a, d, add(b, c, 0))))
    }
}

assign_ops!(CM31);

impl From<M31> for CM31 {
    #[inline]
    fn from(a: M31) -> Self {
        Self::new(a, M31::ZERO)
    }
}

impl Field for CM31 {
    const ZERO: Self = Self::ZERO;
    const ONE: Self = Self::ONE;

    #[inline]
    fn double(self) -> Self {
        self + self
    }

    #[inline]
    fn inverse(self) -> Option<Self> {
        Self::inverse(self)
    }
}

impl fmt::Debug for CM31 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.a, self.b)
    }
}

// SAFETY: both words zero are canonical.
unsafe impl Zeroable for CM31 {}

// SAFETY: two u32 words, no padding.
unsafe impl NoUninit for CM31 {}

// SAFETY: `Bits` has the layout of the two words, and both are checked.
unsafe impl CheckedBitPattern for CM31 {
    type Bits = [u32; 2];

    #[inline]
    fn is_valid_bit_pattern(bits: &[u32; 2]) -> bool {
        bits.iter().all(|&word| word < P)
    }
}
