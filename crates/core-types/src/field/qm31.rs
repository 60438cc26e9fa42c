//! The secure field, of degree 4 over M31.

use core::{
    fmt,
    ops::{Add, Mul, Neg, Sub},
};

use bytemuck::{CheckedBitPattern, NoUninit, Zeroable};

use super::{CM31, Field, M31, P, assign_ops, wide::widening_mul_add};

/// An element `a + b u` of GF(P^4), `u^2 = 2 + i`: the secure field.
///
/// Challenges are drawn from it. In memory it is four canonical words: real and imaginary part of
/// `a`, then of `b`.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct QM31 {
    /// The coefficient of 1.
    pub a: CM31,
    /// The coefficient of `u`.
    pub b: CM31,
}

impl QM31 {
    /// Zero.
    pub const ZERO: Self = Self::new(CM31::ZERO, CM31::ZERO);
    /// One.
    pub const ONE: Self = Self::new(CM31::ONE, CM31::ZERO);
    /// The square root `i` of -1.
    pub const I: Self = Self::new(CM31::new(M31::ZERO, M31::ONE), CM31::ZERO);
    /// The square root `u` of `2 + i`.
    pub const U: Self = Self::new(CM31::ZERO, CM31::ONE);

    /// `a + b u`.
    #[inline]
    #[must_use]
    pub const fn new(a: CM31, b: CM31) -> Self {
        Self { a, b }
    }

    /// The element with coordinates over `1, i, u, iu`.
    #[inline]
    #[must_use]
    pub const fn from_coordinates([x0, x1, x2, x3]: [M31; 4]) -> Self {
        Self::new(CM31::new(x0, x1), CM31::new(x2, x3))
    }

    /// The coordinates over `1, i, u, iu`.
    #[inline]
    #[must_use]
    pub const fn coordinates(self) -> [M31; 4] {
        [self.a.a, self.a.b, self.b.a, self.b.b]
    }

    /// `self * factor`.
    #[inline]
    #[must_use]
    pub fn scale(self, factor: M31) -> Self {
        Self::new(self.a.scale(factor), self.b.scale(factor))
    }

    /// The sum of four products with elements of the base field, each coordinate reduced once.
    #[inline]
    #[must_use]
    pub fn sum_of_scaled(factors: [M31; 4], values: [Self; 4]) -> Self {
        let values = values.map(Self::coordinates);
        Self::from_coordinates([0, 1, 2, 3].map(|k| {
            let add = |sum, i: usize| widening_mul_add(factors[i].word(), values[i][k].word(), sum);
            M31::from_u64([0, 1, 2, 3].into_iter().fold(0, add)) // at most 4 (P - 1)^2 < 2^64
        }))
    }

    /// `a - b u`: the conjugate over CM31.
    #[inline]
    #[must_use]
    pub fn conjugate(self) -> Self {
        Self::new(self.a, -self.b)
    }

    /// The inverse, or `None` for zero.
    #[inline]
    #[must_use]
    pub fn inverse(self) -> Option<Self> {
        let square = self.b * self.b;
        // (2 + i) (x + y i) = (2 x - y) + (x + 2 y) i
        let shifted = CM31::new(square.a + square.a - square.b, square.a + square.b + square.b);
        let norm = self.a * self.a - shifted;
        norm.inverse().map(|inverse| Self::new(self.a * inverse, -(self.b * inverse)))
    }
}

impl Add for QM31 {
    type Output = Self;
    #[inline]
    fn add(self, rhs: Self) -> Self {
        Self::new(self.a + rhs.a, self.b + rhs.b)
    }
}

impl Sub for QM31 {
    type Output = Self;
    #[inline]
    fn sub(self, rhs: Self) -> Self {
        Self::new(self.a - rhs.a, self.b - rhs.b)
    }
}

impl Neg for QM31 {
    type Output = Self;
    #[inline]
    fn neg(self) -> Self {
        Self::new(-self.a, -self.b)
    }
}

impl Mul for QM31 {
    type Output = Self;

    #[inline]
    fn mul(self, rhs: Self) -> Self {
        let [x0, x1, x2, x3] = self.coordinates().map(M31::word);
        let [y0, y1, y2, y3] = rhs.coordinates().map(M31::word);
        let (minus_y1, minus_y3) = (rhs.a.b.opposite(), rhs.b.b.opposite());
        let add = widening_mul_add;
        // The product of the u parts, p0 + p1 i, enters times 2 + i: 2 p0 - p1 and p0 + 2 p1.
        let p0 = M31::from_u64(add(x2, y2, add(x3, minus_y3, 0)));
        let p1 = M31::from_u64(add(x2, y3, add(x3, y2, 0)));
        // Four products of words below or at P, one factor at most P - 1: at most 4 P (P - 1) < 2^64 - 2^33.
        let z0 = add(x0, y0, add(x1, minus_y1, 2 * u64::from(p0.word()) + u64::from(p1.opposite())));
        let z1 = add(x0, y1, add(x1, y0, u64::from(p0.word()) + 2 * u64::from(p1.word())));
        let z2 = add(x0, y2, add(x1, minus_y3, add(x2, y0, add(x3, minus_y1, 0))));
        let z3 = add(x0, y3, add(x1, y2, add(x2, y1, add(x3, y0, 0))));
        Self::from_coordinates([z0, z1, z2, z3].map(M31::from_u64))
    }
}

impl Add<M31> for QM31 {
    type Output = Self;
    #[inline]
    fn add(self, rhs: M31) -> Self {
        Self::new(CM31::new(self.a.a + rhs, self.a.b), self.b)
    }
}

impl Sub<M31> for QM31 {
    type Output = Self;
    #[inline]
    fn sub(self, rhs: M31) -> Self {
        Self::new(CM31::new(self.a.a - rhs, self.a.b), self.b)
    }
}

impl Mul<M31> for QM31 {
    type Output = Self;
    #[inline]
    fn mul(self, rhs: M31) -> Self {
        self.scale(rhs)
    }
}

assign_ops!(QM31);

impl From<M31> for QM31 {
    #[inline]
    fn from(a: M31) -> Self {
        Self::new(CM31::from(a), CM31::ZERO)
    }
}

impl Field for QM31 {
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

impl fmt::Debug for QM31 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x0, x1, x2, x3] = self.coordinates();
        write!(f, "({x0}, {x1}, {x2}, {x3})")
    }
}

// SAFETY: all words zero are canonical.
unsafe impl Zeroable for QM31 {}

// SAFETY: four u32 words, no padding.
unsafe impl NoUninit for QM31 {}

// SAFETY: `Bits` has the layout of the four words, and all are checked.
unsafe impl CheckedBitPattern for QM31 {
    type Bits = [u32; 4];

    #[inline]
    fn is_valid_bit_pattern(bits: &[u32; 4]) -> bool {
        bits.iter().all(|&word| word < P)
    }
}
