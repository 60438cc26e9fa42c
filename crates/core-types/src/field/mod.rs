//! Mersenne-31, its complex extension and the secure field over it.

mod cm31;
mod m31;
mod qm31;
#[cfg(feature = "serde")]
mod stored;
mod twiddle;
mod wide;

use core::ops::{Add, Mul, Neg, Sub};

pub use cm31::CM31;
pub use m31::{M31, P};
pub use qm31::QM31;
pub use twiddle::Twiddle;
pub use wide::widening_mul_add;

/// A field of the tower `M31 < CM31 < QM31`, for code that runs over any of them.
pub trait Field:
    Copy + PartialEq + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Neg<Output = Self> + From<M31>
{
    /// The neutral element of addition.
    const ZERO: Self;
    /// The neutral element of multiplication.
    const ONE: Self;

    /// `2 * self`.
    #[must_use]
    fn double(self) -> Self;

    /// `self * self`.
    #[must_use]
    fn square(self) -> Self {
        self * self
    }

    /// The inverse, or `None` for zero.
    #[must_use]
    fn inverse(self) -> Option<Self>;
}

macro_rules! assign_ops {
    ($field:ty) => {
        impl core::ops::AddAssign for $field {
            #[inline]
            fn add_assign(&mut self, rhs: Self) {
                *self = *self + rhs;
            }
        }

        impl core::ops::SubAssign for $field {
            #[inline]
            fn sub_assign(&mut self, rhs: Self) {
                *self = *self - rhs;
            }
        }

        impl core::ops::MulAssign for $field {
            #[inline]
            fn mul_assign(&mut self, rhs: Self) {
                *self = *self * rhs;
            }
        }
    };
}
pub(crate) use assign_ops;
