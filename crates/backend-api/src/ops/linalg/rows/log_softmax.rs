//! The logarithm of softmax along an axis.

use core_types::params::rows::{AxisParams, SoftmaxParams};

use super::RowMask;

use crate::{
    Real,
    ops::{lengths::require, op},
};

op! {
    /// Log-softmax, `y_c = (x_c - max x) - ln sum_j exp(x_j - max x)` along the axis.
    ///
    /// Masks and special values are as in [`Softmax`](super::Softmax), so elements left out give
    /// -inf. A finite element has a finite y: at least the least number of its type.
    pub struct LogSoftmax<'a, Q, T: Real> as "log_softmax" {
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
