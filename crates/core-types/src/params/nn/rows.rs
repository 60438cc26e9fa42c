//! Parameters of softmax and of the normalisations.

use core::fmt::Debug;

use bytemuck::{NoUninit, Pod, Zeroable};

use crate::params::sizes::{Sizes, sizes};

/// A row-major `outer x len x inner` tensor, for an op along its middle axis.
///
/// Element `(o, c, i)` is at `(o len + c) inner + i`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct AxisParams {
    /// Product of the axes before it.
    pub outer: u64,
    /// Length of the axis, at least 1 unless there is no element.
    pub len: u64,
    /// Product of the axes after it.
    pub inner: u64,
}

sizes!(AxisParams { outer, len, inner });

impl AxisParams {
    /// Number of elements; the caller has checked that it fits.
    #[inline]
    #[must_use]
    pub const fn elements(&self) -> u64 {
        self.outer.wrapping_mul(self.len).wrapping_mul(self.inner)
    }
}

/// Softmax or its logarithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, NoUninit)]
#[repr(u32)]
pub enum SoftmaxKind {
    /// Softmax.
    Softmax,
    /// Log-softmax.
    Log,
}

impl Sizes for SoftmaxKind {
    fn each_size(&self, name: &'static str, see: &mut impl FnMut(&'static str, &dyn Debug)) {
        see(name, self);
    }
}

/// A softmax, masked or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct SoftmaxParams {
    /// Tensor and axis.
    pub axis: AxisParams,
    /// Outer index o uses mask `o % mask_period`; at least 1.
    pub mask_period: u64,
    /// The offset of a causal mask.
    ///
    /// Element `(o, c, i)` is excluded if `c > o % mask_period + causal_offset`.
    pub causal_offset: i64,
}

impl Sizes for SoftmaxParams {
    fn each_size(&self, name: &'static str, see: &mut impl FnMut(&'static str, &dyn Debug)) {
        self.axis.each_size(name, see);
        see("mask_period", &self.mask_period);
    }
}

impl SoftmaxParams {
    /// Elements in a mask: `mask_period x len x inner`.
    #[inline]
    #[must_use]
    pub const fn mask_elements(&self) -> u64 {
        self.mask_period.wrapping_mul(self.axis.len).wrapping_mul(self.axis.inner)
    }

    /// How many leading indices along the axis a causal mask keeps at outer index `outer`.
    #[inline]
    #[must_use]
    pub const fn causal_len(&self, outer: u64) -> u64 {
        let position = match outer.checked_rem(self.mask_period) {
            Some(position) => position,
            None => 0,
        };
        // Below 2^64 + 2^63, above -2^63: no wrap in 128 bits.
        let keep = position as i128 + self.causal_offset as i128 + 1;
        if keep <= 0 {
            0
        } else if keep >= self.axis.len as i128 {
            self.axis.len
        } else {
            keep as u64
        }
    }
}

/// A normalisation of the rows of a row-major `rows x len` matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct NormParams {
    /// Number of rows.
    pub rows: u64,
    /// Elements in a row, at least 1 unless there is no row.
    pub len: u64,
    /// Added to the variance or mean square, inside the root; finite and not negative.
    pub eps: f32,
}

sizes!(NormParams { rows, len });

/// A power of two and its inverse, for scaling `x - mean` in a backward pass.
///
/// With it, products of elements far from 1 neither overflow nor vanish in the backward pass of a
/// normalisation, and nothing else changes. The power is close to `rstd`, but small enough that
/// `mean` times it is finite.
#[inline]
#[must_use]
pub const fn norm_scale(mean: f32, rstd: f32) -> (f32, f32) {
    let limit = 100 - exponent(mean);
    let wanted = if exponent(rstd) < limit { exponent(rstd) } else { limit };
    let k = if wanted < -126 {
        -126
    } else if wanted > 126 {
        126
    } else {
        wanted
    };
    (f32::from_bits(((127 + k) as u32) << 23), f32::from_bits(((127 - k) as u32) << 23))
}

/// The exponent of a normal number; -127 for those below and 128 for infinity and NaN.
const fn exponent(x: f32) -> i32 {
    (x.to_bits() >> 23 & 0xff) as i32 - 127
}

/// Number of rows in a block of the sum of parameter gradients.
///
/// Gradients are summed in order within blocks, then in order over blocks, so the sum depends only
/// on the shape.
pub const NORM_BLOCK_ROWS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_causal_row_keeps_everything_up_to_its_shifted_diagonal() {
        let p = |causal_offset| SoftmaxParams {
            axis: AxisParams { outer: 6, len: 4, inner: 1 },
            mask_period: 3,
            causal_offset,
        };
        let kept = |offset| [0, 1, 2, 3, 4, 5].map(|outer| p(offset).causal_len(outer));
        assert_eq!(kept(0), [1, 2, 3, 1, 2, 3]);
        assert_eq!(kept(1), [2, 3, 4, 2, 3, 4]);
        assert_eq!(kept(-2), [0, 0, 1, 0, 0, 1]);
        assert_eq!(kept(i64::MAX), [4; 6]);
        assert_eq!(kept(i64::MIN), [0; 6]);
    }

    #[test]
    fn a_norm_scale_is_a_power_of_two_near_rstd_that_keeps_the_mean_finite() {
        for (mean, rstd, log) in [
            (0.0, 1.5, 0),
            (0.0, 1e25, 83),
            (1e30, 1e-37, -123),
            (1e38, 316.0, -26),
            (0.0, 0.0, -126),
            (0.0, f32::INFINITY, 126),
        ] {
            let (scale, inverse) = norm_scale(mean, rstd);
            assert_eq!((exponent(scale), scale * inverse), (log, 1.0), "{mean} {rstd}");
            assert!((mean * scale).is_finite());
        }
    }
}
