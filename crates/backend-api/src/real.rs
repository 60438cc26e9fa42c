//! The floating-point element types, and how their values are read and rounded.

use bytemuck::Pod;
use half::{bf16, f16};

use crate::Element;

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

/// A floating-point element of a tensor. Sums and functions are computed in f32 and rounded to nearest even once.
pub trait Real: Element + Pod + PartialEq + core::fmt::Debug + sealed::Sealed {
    /// The name of the type.
    const DTYPE: DType;

    /// The exact value.
    fn to_f32(self) -> f32;

    /// The nearest value, ties to even.
    fn from_f32(value: f32) -> Self;
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
}
