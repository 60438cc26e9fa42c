//! The floating-point element types, and how their values are read and rounded.

use bytemuck::Pod;
use half::{bf16, f16};

use crate::{BackendError, Element};

/// Names of the floating-point element types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DType {
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary16.
    F16,
    /// The upper half of binary32.
    Bf16,
}

impl DType {
    /// The name used in reports and files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
        }
    }
}

impl core::fmt::Display for DType {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

/// A floating-point element of a tensor.
///
/// Sums and functions are computed in f32 and rounded to nearest even once.
pub trait Real: Element + Pod + PartialEq + core::fmt::Debug + sealed::Sealed {
    /// The name of the type.
    const DTYPE: DType;

    /// The exact value.
    fn to_f32(self) -> f32;

    /// The nearest value, ties to even.
    fn from_f32(value: f32) -> Self;

    /// Runs the form of `O` for this type on `q`.
    ///
    /// # Errors
    /// What that form returns.
    fn run<Q, O: RealOp<Q>>(q: &Q, op: O::Op<'_, Self>) -> Result<(), BackendError>;
}

/// An op of queue `Q` with a function for each element type.
///
/// The functions are not generic, so they are compiled in the crate that implements this trait,
/// once, and not again in every crate that calls the op. [`real_op!`](crate::real_op) implements
/// it.
pub trait RealOp<Q> {
    /// The op on elements of `T`.
    type Op<'a, T: Real>;

    /// Runs the op on f32.
    ///
    /// # Errors
    /// The error of the op.
    fn f32(q: &Q, op: Self::Op<'_, f32>) -> Result<(), BackendError>;

    /// Runs the op on f16.
    ///
    /// # Errors
    /// The error of the op.
    fn f16(q: &Q, op: Self::Op<'_, f16>) -> Result<(), BackendError>;

    /// Runs the op on bf16.
    ///
    /// # Errors
    /// The error of the op.
    fn bf16(q: &Q, op: Self::Op<'_, bf16>) -> Result<(), BackendError>;
}

/// Defines a method of an op set that is generic in the element type.
///
/// The method calls the generic function `$run(&queue, op)`, compiled for each type in this crate.
#[macro_export]
macro_rules! real_op {
    ($method:ident, $queue:ty, $module:ident::$record:ident, $run:expr) => {
        fn $method<T: $crate::Real>(
            &self,
            op: $crate::ops::$module::$record<'_, Self, T>,
        ) -> Result<(), $crate::BackendError> {
            struct Forms;
            impl $crate::RealOp<$queue> for Forms {
                type Op<'a, T: $crate::Real> = $crate::ops::$module::$record<'a, $queue, T>;

                fn f32(q: &$queue, op: Self::Op<'_, f32>) -> Result<(), $crate::BackendError> {
                    ($run)(q, op)
                }

                fn f16(q: &$queue, op: Self::Op<'_, $crate::half::f16>) -> Result<(), $crate::BackendError> {
                    ($run)(q, op)
                }

                fn bf16(q: &$queue, op: Self::Op<'_, $crate::half::bf16>) -> Result<(), $crate::BackendError> {
                    ($run)(q, op)
                }
            }
            T::run::<$queue, Forms>(self, op)
        }
    };
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for half::f16 {}
    impl Sealed for half::bf16 {}
}

impl Real for f32 {
    const DTYPE: DType = DType::F32;

    #[inline]
    fn to_f32(self) -> f32 {
        self
    }

    #[inline]
    fn from_f32(value: f32) -> Self {
        value
    }

    #[inline]
    fn run<Q, O: RealOp<Q>>(q: &Q, op: O::Op<'_, Self>) -> Result<(), BackendError> {
        O::f32(q, op)
    }
}

impl Real for f16 {
    const DTYPE: DType = DType::F16;

    #[inline]
    fn to_f32(self) -> f32 {
        f16::to_f32(self)
    }

    #[inline]
    fn from_f32(value: f32) -> Self {
        f16::from_f32(value)
    }

    #[inline]
    fn run<Q, O: RealOp<Q>>(q: &Q, op: O::Op<'_, Self>) -> Result<(), BackendError> {
        O::f16(q, op)
    }
}

impl Real for bf16 {
    const DTYPE: DType = DType::Bf16;

    #[inline]
    fn to_f32(self) -> f32 {
        bf16::to_f32(self)
    }

    #[inline]
    fn from_f32(value: f32) -> Self {
        bf16::from_f32(value)
    }

    #[inline]
    fn run<Q, O: RealOp<Q>>(q: &Q, op: O::Op<'_, Self>) -> Result<(), BackendError> {
        O::bf16(q, op)
    }
}
