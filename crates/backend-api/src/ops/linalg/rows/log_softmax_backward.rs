//! The gradient of the logarithm of softmax.

use core_types::params::rows::AxisParams;

use crate::{Real, ops::op};

op! {
    /// `dx = g - exp(y) sum_j g_j` for the output y of [`LogSoftmax`](super::LogSoftmax).
    ///
    /// An element with y = -inf is constant: its dx is zero and its g is left out of the sum.
    pub struct LogSoftmaxBackward<'a, Q, T: Real> as "log_softmax_backward" {
        /// The shape.
        params: plain &'a AxisParams,
        /// The output.
        y: read T [outer, len, inner],
        /// The gradient of the loss with respect to y.
        g: read T [outer, len, inner],
        /// The gradient with respect to x.
        dx: write T [outer, len, inner],
    }
    sizes(self) {
        let AxisParams { outer, len, inner } = *self.params;
    }
}
