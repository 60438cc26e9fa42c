//! Softmax along an axis.

use core_types::params::rows::{AxisParams, SoftmaxParams};

use super::RowMask;

use crate::{
    Real,
    ops::{lengths::require, op},
};

op! {
    /// `y_c = exp(x_c - max x) / sum_j exp(x_j - max x)` along the axis.
    ///
    /// Elements that the mask leaves out count as -inf; a row without any other element gives
    /// zeros. NaN and +inf in a row make the row NaN, and so does a row whose elements are all -inf
    /// without being left out.
    pub struct Softmax<'a, Q, T: Real> as "softmax" {
        /// The shape, and how masks repeat.
        params: plain &'a SoftmaxParams,
        /// The elements.
        x: read T [outer, len, inner],
        /// The elements to leave out.
        mask: views RowMask<'a, Q> [period, len, inner],
        /// The results.
        y: write T [outer, len, inner],
    }
    sizes(self) {
        let AxisParams { outer, len, inner } = self.params.axis;
        let period = self.params.mask_period;
        require(OP, period != 0, "the mask period is zero")?;
    }
}
