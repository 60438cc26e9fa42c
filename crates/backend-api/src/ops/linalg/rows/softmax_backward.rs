//! The gradient of softmax.

use core_types::params::rows::AxisParams;

use crate::{Real, ops::op};

op! {
    /// `dx = y (g - sum_j g_j y_j)` for the output y of [`Softmax`](super::Softmax).
    ///
    /// An element with y = 0, such as one left out, is constant: its dx is zero and its g is left
    /// out of the sum.
    pub struct SoftmaxBackward<'a, Q, T: Real> as "softmax_backward" {
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
