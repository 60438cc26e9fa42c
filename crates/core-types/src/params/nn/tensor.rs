//! Parameters of maps, strided copies, reductions and rows by index.

use core::fmt::Debug;

use bytemuck::NoUninit;

use super::elementwise::MAX_RANK;
use crate::params::sizes::{Sizes, sizes};

/// A function of one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, NoUninit)]
#[repr(u32)]
pub enum Function {
    /// -x.
    Neg,
    /// The magnitude.
    Abs,
    /// exp(x), within 2 ulp.
    Exp,
    /// The natural logarithm, within 1 ulp; -inf at zeros, NaN below them.
    Log,
    /// The square root; NaN below zero.
    Sqrt,
    /// 1 / sqrt(x), within 2 ulp; inf at 0.
    Rsqrt,
    /// 1 / x.
    Recip,
    /// x held within `low..=high`; NaN stays.
    Clamp,
    /// x^2 / 2 up to a magnitude of `high`, and the tangent beyond: high (|x| - high / 2).
    ///
    /// Its derivative is the clamp to `-high..=high`. Huber, "Robust Estimation of a Location
    /// Parameter", 1964.
    Huber,
}

impl Function {
    /// Every function.
    pub const ALL: [Self; 9] =
        [Self::Neg, Self::Abs, Self::Exp, Self::Log, Self::Sqrt, Self::Rsqrt, Self::Recip, Self::Clamp, Self::Huber];

    /// The name used in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Neg => "neg",
            Self::Abs => "abs",
            Self::Exp => "exp",
            Self::Log => "log",
            Self::Sqrt => "sqrt",
            Self::Rsqrt => "rsqrt",
            Self::Recip => "recip",
            Self::Clamp => "clamp",
            Self::Huber => "huber",
        }
    }
}

/// A map over elements.
#[derive(Clone, Copy, Debug, PartialEq, NoUninit)]
#[repr(C)]
pub struct MapParams {
    /// The function.
    pub f: Function,
    /// Lower bound of a clamp; other functions ignore it.
    pub low: f32,
    /// Upper bound of a clamp, or the start of the straight part of Huber's function.
    ///
    /// Other functions ignore it.
    pub high: f32,
}

impl Sizes for MapParams {
    fn each_size(&self, _: &'static str, see: &mut impl FnMut(&'static str, &dyn Debug)) {
        see("f", &self.f);
    }
}

/// A copy between two tensors of one `shape`, with elements in any order.
///
/// Axes past `rank` have length 1. A stride of 0 repeats the source along its axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, NoUninit)]
#[repr(C)]
pub struct CopyParams {
    /// Number of axes in use.
    pub rank: u32,
    /// Keeps the axes in place; zero.
    pub reserved: u32,
    /// Length of each axis, outermost first.
    pub shape: [u64; MAX_RANK],
    /// Elements of the source from one index of the axis to the next.
    pub x_strides: [u64; MAX_RANK],
    /// Elements of the result from one index of the axis to the next.
    pub y_strides: [u64; MAX_RANK],
}

impl Sizes for CopyParams {
    fn each_size(&self, _: &'static str, see: &mut impl FnMut(&'static str, &dyn Debug)) {
        see("shape", &&self.shape[..(self.rank as usize).min(MAX_RANK)]);
    }
}

/// Treatment of values beyond the range of a 16-bit type.
///
/// These are the values that rounding makes infinite, including infinities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, NoUninit)]
#[repr(u32)]
pub enum Beyond {
    /// They become infinite, as IEEE 754 has it.
    Infinite,
    /// They become the greatest finite value of their sign.
    Saturated,
}

impl Sizes for Beyond {
    fn each_size(&self, name: &'static str, see: &mut impl FnMut(&'static str, &dyn Debug)) {
        see(name, self);
    }
}

/// What becomes of the elements along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, NoUninit)]
#[repr(u32)]
pub enum Reduction {
    /// Their sum; 0 without elements.
    Sum,
    /// Their mean.
    Mean,
    /// The greatest, by `maximum` of IEEE 754-2019: NaN if there is one, and 0 above -0.
    Max,
    /// The least, by `minimum` of IEEE 754-2019: NaN if there is one, and -0 below 0.
    Min,
}

impl Reduction {
    /// Every reduction.
    pub const ALL: [Self; 4] = [Self::Sum, Self::Mean, Self::Max, Self::Min];

    /// The name used in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Mean => "mean",
            Self::Max => "max",
            Self::Min => "min",
        }
    }
}

/// A reduction of the middle axis of row-major elements.
///
/// It reduces `outer x len x inner` elements to `outer x inner`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, NoUninit)]
#[repr(C)]
pub struct ReduceParams {
    /// The reduction of the axis.
    pub reduction: Reduction,
    /// Keeps the lengths in place; zero.
    pub reserved: u32,
    /// Product of the axes before it.
    pub outer: u64,
    /// Its length.
    pub len: u64,
    /// Product of the axes after it.
    pub inner: u64,
}

sizes!(ReduceParams { reduction, outer, len, inner });

/// Rows of a row-major `rows x width` table, and how many of them are named by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, NoUninit)]
#[repr(C)]
pub struct TableParams {
    /// Rows of the table.
    pub rows: u64,
    /// Elements of a row.
    pub width: u64,
    /// Number of indices.
    pub count: u64,
}

sizes!(TableParams { rows, width, count });
