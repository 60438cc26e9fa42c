//! The circle group `x^2 + y^2 = 1` over Mersenne-31 and its extensions.
//!
//! Generator and index names are stwo's.

use core::ops::{Add, Mul, Neg, Sub};

use crate::field::{Field, M31};

/// The order of the circle group over M31 is `2^LOG_ORDER`.
pub const LOG_ORDER: u32 = 31;

/// The largest log size of a canonic domain.
pub const MAX_LOG_DOMAIN: u32 = LOG_ORDER - 1;

/// `position` with its lowest `bits` bits in reverse; `bits` is at most 31.
///
/// Evaluations are stored in this order.
#[inline]
#[must_use]
pub const fn bit_reversed(position: u32, bits: u32) -> u32 {
    if bits == 0 { 0 } else { position.reverse_bits().wrapping_shr(u32::BITS.wrapping_sub(bits)) }
}

/// A point of the circle over `F`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct CirclePoint<F> {
    /// First coordinate.
    pub x: F,
    /// Second coordinate.
    pub y: F,
}

impl CirclePoint<M31> {
    /// The point that generates the whole group.
    pub const GENERATOR: Self = Self { x: word(2), y: word(1_268_011_823) };
}

const fn word(word: u32) -> M31 {
    M31::from_u32(word)
}

impl<F: Field> CirclePoint<F> {
    /// The neutral point `(1, 0)`.
    pub const NEUTRAL: Self = Self { x: F::ONE, y: F::ZERO };

    /// Twice the point.
    #[inline]
    #[must_use]
    pub fn double(self) -> Self {
        Self { x: double_x(self.x), y: (self.x * self.y).double() }
    }

    /// The inverse of the point, `(x, -y)`.
    #[inline]
    #[must_use]
    pub fn conjugate(self) -> Self {
        Self { x: self.x, y: -self.y }
    }

    /// The point of the circle with parameter `t`, or `None` if `t^2 = -1`.
    ///
    /// The point is `((1 - t^2) / (1 + t^2), 2 t / (1 + t^2))`.
    #[must_use]
    pub fn from_parameter(t: F) -> Option<Self> {
        let square = t.square();
        let inverse = (F::ONE + square).inverse()?;
        Some(Self { x: (F::ONE - square) * inverse, y: t.double() * inverse })
    }

    /// Whether the coordinates satisfy `x^2 + y^2 = 1`.
    #[must_use]
    pub fn is_on_circle(self) -> bool {
        self.x.square() + self.y.square() == F::ONE
    }
}

/// The x-coordinate of twice a point, `2 x^2 - 1`: it depends on x alone.
#[inline]
#[must_use]
pub fn double_x<F: Field>(x: F) -> F {
    x.square().double() - F::ONE
}

impl<F: Field> Add for CirclePoint<F> {
    type Output = Self;
    #[inline]
    fn add(self, rhs: Self) -> Self {
        Self { x: self.x * rhs.x - self.y * rhs.y, y: self.x * rhs.y + self.y * rhs.x }
    }
}

impl From<CirclePoint<M31>> for CirclePoint<crate::field::QM31> {
    fn from(point: CirclePoint<M31>) -> Self {
        Self { x: point.x.into(), y: point.y.into() }
    }
}

/// A point, given as a multiple of the generator, modulo the group order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CirclePointIndex(u32);

impl CirclePointIndex {
    const MASK: u32 = (1 << LOG_ORDER) - 1;

    /// The point `k * GENERATOR`; `k` counts modulo 2^31.
    #[inline]
    #[must_use]
    pub const fn new(k: u32) -> Self {
        Self(k & Self::MASK)
    }

    /// The generator of the subgroup with `2^log_order` points.
    ///
    /// For orders above the group's it is the group's generator.
    #[inline]
    #[must_use]
    pub const fn subgroup_generator(log_order: u32) -> Self {
        Self::new(1 << LOG_ORDER.saturating_sub(log_order))
    }

    /// The multiple of the generator, below 2^31.
    #[inline]
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The coordinates, by doubling and adding.
    #[must_use]
    pub fn to_point(self) -> CirclePoint<M31> {
        let mut sum = CirclePoint::NEUTRAL;
        let mut power = CirclePoint::GENERATOR;
        let mut k = self.0;
        while k > 0 {
            if k & 1 == 1 {
                sum = sum + power;
            }
            power = power.double();
            k >>= 1;
        }
        sum
    }
}

impl Add for CirclePointIndex {
    type Output = Self;
    #[inline]
    fn add(self, rhs: Self) -> Self {
        Self::new(self.0.wrapping_add(rhs.0)) // 2^31 divides 2^32
    }
}

impl Sub for CirclePointIndex {
    type Output = Self;
    #[inline]
    fn sub(self, rhs: Self) -> Self {
        Self::new(self.0.wrapping_sub(rhs.0))
    }
}

impl Neg for CirclePointIndex {
    type Output = Self;
    #[inline]
    fn neg(self) -> Self {
        Self::new(self.0.wrapping_neg())
    }
}

impl Mul<u32> for CirclePointIndex {
    type Output = Self;
    #[inline]
    fn mul(self, factor: u32) -> Self {
        Self::new(self.0.wrapping_mul(factor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::QM31;

    #[test]
    fn the_generator_has_the_full_order() {
        let mut point = CirclePoint::GENERATOR;
        assert!(point.is_on_circle());
        for _ in 0..29 {
            point = point.double();
        }
        assert_eq!(point, CirclePoint { x: M31::ZERO, y: -M31::ONE }); // a quarter turn
        assert_eq!(point.double().double(), CirclePoint::NEUTRAL);
        assert_ne!(point.double(), CirclePoint::NEUTRAL);
    }

    #[test]
    fn indices_add_as_points_do() {
        let mut state = 1u32;
        for _ in 0..200 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (i, j) = (CirclePointIndex::new(state), CirclePointIndex::new(state.rotate_left(13)));
            assert_eq!((i + j).to_point(), i.to_point() + j.to_point());
            assert_eq!((i - j).to_point(), i.to_point() + j.to_point().conjugate());
            assert_eq!((-i).to_point(), i.to_point().conjugate());
            assert_eq!((i * 2).to_point(), i.to_point().double());
            assert_eq!(double_x(i.to_point().x), i.to_point().double().x);
        }
    }

    #[test]
    fn parameters_name_points_of_the_circle() {
        let t = QM31::from_coordinates([3, 5, 7, 11].map(M31::from_u32));
        assert!(CirclePoint::from_parameter(t).unwrap().is_on_circle());
        let i = QM31::from_coordinates([0, 1, 0, 0].map(M31::from_u32));
        assert_eq!(CirclePoint::from_parameter(i), None);
    }
}
