//! Values in constraints: elements of the base field and of the secure field.
//!
//! Each row type has its own form of them.

use core::ops::{Add, Mul, Neg, Sub};

use crate::field::{M31, QM31};

/// A value of the base field in a constraint.
///
/// It is the element of a row, lanes of several rows, an element of the secure field outside the
/// domain, or a node of a recorded program.
///
/// Values cannot be compared or inverted: constraints are polynomials, and a program that is
/// recorded has no branches.
pub trait BaseValue:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
    + Add<M31, Output = Self>
    + Sub<M31, Output = Self>
    + Mul<M31, Output = Self>
    + From<M31>
{
    /// `self * self`.
    #[inline]
    #[must_use]
    fn square(self) -> Self {
        self * self
    }
}

/// A value in the place of an element of the secure field, over base values `F`.
pub trait ExtensionValue<F>:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
    + Add<F, Output = Self>
    + Sub<F, Output = Self>
    + Mul<F, Output = Self>
    + From<F>
    + From<QM31>
{
    /// The value with these coordinates over `1, i, u, iu`.
    #[must_use]
    fn from_coordinates(coordinates: [F; 4]) -> Self;
}

impl BaseValue for M31 {}

impl BaseValue for QM31 {}

impl ExtensionValue<M31> for QM31 {
    #[inline]
    fn from_coordinates(coordinates: [M31; 4]) -> Self {
        Self::from_coordinates(coordinates)
    }
}

/// Outside the domain columns of coordinates take values of the secure field themselves.
impl ExtensionValue<Self> for QM31 {
    #[inline]
    fn from_coordinates([x0, x1, x2, x3]: [Self; 4]) -> Self {
        x0 + x1 * Self::I + x2 * Self::U + x3 * (Self::I * Self::U)
    }
}
