//! Fractions that look-ups add up.

use core::ops::{Add, Mul};

/// A fraction of the secure field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fraction<E> {
    /// How often the values are used, or minus how often they are yielded.
    pub numerator: E,
    /// The values, combined with the challenges of their relation.
    pub denominator: E,
}

impl<E: Copy + Add<Output = E> + Mul<Output = E>> Add for Fraction<E> {
    type Output = Self;

    #[inline]
    fn add(self, rhs: Self) -> Self {
        Self {
            numerator: self.numerator * rhs.denominator + rhs.numerator * self.denominator,
            denominator: self.denominator * rhs.denominator,
        }
    }
}
