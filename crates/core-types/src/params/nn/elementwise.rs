//! Parameters of elementwise maps, axis sums and dropout.

use core::fmt::Debug;

use bytemuck::NoUninit;

use crate::{
    float::{maximum, minimum},
    params::sizes::{Sizes, sizes},
};

/// Most axes of a tensor.
pub const MAX_RANK: usize = 6;

/// A function applied to every element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, NoUninit)]
#[repr(u32)]
pub enum Activation {
    /// x.
    #[default]
    Identity,
    /// max(x, 0); NaN stays NaN, and the derivative at 0 is 0.
    Relu,
    /// 1 / (1 + exp(-x)).
    Sigmoid,
    /// tanh(x).
    Tanh,
    /// x Phi(x) by the tanh approximation: x sigmoid(2 sqrt(2/pi) (x + 0.044715 x^3)).
    ///
    /// Hendrycks and Gimpel, arXiv 1606.08415.
    GeluTanh,
    /// x Phi(x), Phi the normal distribution function.
    GeluErf,
    /// x sigmoid(x).
    Silu,
}

impl Activation {
    /// Every activation.
    pub const ALL: [Self; 7] =
        [Self::Identity, Self::Relu, Self::Sigmoid, Self::Tanh, Self::GeluTanh, Self::GeluErf, Self::Silu];

    /// The name used in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Relu => "relu",
            Self::Sigmoid => "sigmoid",
            Self::Tanh => "tanh",
            Self::GeluTanh => "gelu-tanh",
            Self::GeluErf => "gelu-erf",
            Self::Silu => "silu",
        }
    }

    /// Whether the derivative is computed from the output y and not from the input x.
    #[inline]
    #[must_use]
    pub const fn saves_output(self) -> bool {
        matches!(self, Self::Sigmoid | Self::Tanh)
    }
}

impl Sizes for Activation {
    fn each_size(&self, name: &'static str, see: &mut impl FnMut(&'static str, &dyn Debug)) {
        see(name, self);
    }
}

/// A function of two elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, NoUninit)]
#[repr(u32)]
pub enum Binary {
    /// a + b.
    Add,
    /// a - b.
    Sub,
    /// a b.
    Mul,
    /// a / b.
    Div,
    /// The greater of the two: `maximum` of IEEE 754-2019, NaN if either is NaN and 0 above -0.
    Max,
    /// The lesser of the two: `minimum` of IEEE 754-2019, NaN if either is NaN and -0 below 0.
    Min,
}

impl Binary {
    /// Every function of two elements.
    pub const ALL: [Self; 6] = [Self::Add, Self::Sub, Self::Mul, Self::Div, Self::Max, Self::Min];

    /// f(a, b), rounded once.
    #[inline(always)]
    #[must_use]
    pub const fn value(self, a: f32, b: f32) -> f32 {
        match self {
            Self::Add => a + b,
            Self::Sub => a - b,
            Self::Mul => a * b,
            Self::Div => a / b,
            Self::Max => maximum(a, b),
            Self::Min => minimum(a, b),
        }
    }
}

/// `y = f(a, b)` over a row-major output of `shape`; axes past `rank` have length 1.
///
/// A stride of 0 repeats an operand along its axis (broadcasting).
#[derive(Clone, Copy, Debug, PartialEq, Eq, NoUninit)]
#[repr(C)]
pub struct BinaryParams {
    /// The function.
    pub op: Binary,
    /// Number of axes in use.
    pub rank: u32,
    /// Length of each axis, outermost first.
    pub shape: [u64; MAX_RANK],
    /// Elements of `a` from one index of the axis to the next.
    pub a_strides: [u64; MAX_RANK],
    /// Elements of `b` from one index of the axis to the next.
    pub b_strides: [u64; MAX_RANK],
}

impl Sizes for BinaryParams {
    fn each_size(&self, _: &'static str, see: &mut impl FnMut(&'static str, &dyn Debug)) {
        see("op", &self.op);
        let rank = (self.rank as usize).min(self.shape.len());
        see("shape", &&self.shape[..rank]);
    }
}

/// `y = f(x, value)` over a row-major output of `shape`; axes past `rank` have length 1.
///
/// A stride of 0 repeats x along its axis.
#[derive(Clone, Copy, Debug, PartialEq, NoUninit)]
#[repr(C)]
pub struct BinaryScalarParams {
    /// The function.
    pub op: Binary,
    /// The second operand, for every element.
    pub value: f32,
    /// Number of axes in use.
    pub rank: u32,
    /// Keeps the axes in place; zero.
    pub reserved: u32,
    /// Length of each axis, outermost first.
    pub shape: [u64; MAX_RANK],
    /// Elements of `x` from one index of the axis to the next.
    pub x_strides: [u64; MAX_RANK],
}

impl Sizes for BinaryScalarParams {
    fn each_size(&self, _: &'static str, see: &mut impl FnMut(&'static str, &dyn Debug)) {
        see("op", &self.op);
        let rank = (self.rank as usize).min(self.shape.len());
        see("shape", &&self.shape[..rank]);
    }
}

/// Sum over the middle axis of a row-major tensor.
///
/// The source is an `outer x len x inner` tensor, the result a row-major `outer x inner` one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct SumParams {
    /// Product of the axes before the summed one.
    pub outer: u64,
    /// Length of the summed axis.
    pub len: u64,
    /// Product of the axes after the summed one.
    pub inner: u64,
    /// 1 to add to the output, 0 to overwrite it.
    pub accumulate: u32,
}

sizes!(SumParams { outer, len, inner });

/// Seeded dropout of `y = x keep scale`.
///
/// Element `i` is kept iff its Philox word is at least `threshold`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct DropoutParams {
    /// Key of the generator.
    pub seed: u64,
    /// Which dropout of the network this is.
    pub site: u32,
    /// Which training step this is.
    pub step: u32,
    /// Logical index of the first element of the view.
    pub first: u64,
    /// The drop probability as `floor(p 2^32)`; at most `2^32`, which drops everything.
    pub threshold: u64,
    /// Factor of kept elements, 1 / (1 - p).
    pub scale: f32,
}

sizes!(DropoutParams {});
