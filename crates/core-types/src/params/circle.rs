//! Parameters of the circle op set. All buffers are column-major: column `c` starts at `c * 2^log_size`.

use bytemuck::{NoUninit, Pod, Zeroable};

use crate::{circle::CirclePoint, field::QM31};

/// A batch of transforms of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct CircleFftParams {
    /// Log of the number of values in a column, 1..=30.
    pub log_size: u32,
    /// Number of columns.
    pub columns: u32,
}

/// A batch of low-degree extensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct CircleExtendParams {
    /// Log of the number of coefficients in a column.
    pub log_coefficients: u32,
    /// Log of the number of values in a column, at least `log_coefficients`.
    pub log_size: u32,
    /// Number of columns.
    pub columns: u32,
}

/// Evaluation of a batch of polynomials at one point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct CirclePointParams {
    /// Log of the number of coefficients in a column, 0..=30.
    pub log_size: u32,
    /// Number of columns.
    pub columns: u32,
    /// The point, on the circle over QM31.
    pub point: CirclePoint<QM31>,
}

// SAFETY: two u32 and a repr(C) pair of four words each: 40 bytes of 4-byte words, no padding.
unsafe impl NoUninit for CirclePointParams {}

/// Twiddle factors of one domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct CircleTwiddleParams {
    /// Log of the number of points of the domain, 1..=30.
    pub log_size: u32,
}
