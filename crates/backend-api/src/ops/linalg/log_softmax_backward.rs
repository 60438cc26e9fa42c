//! The gradient of the logarithm of softmax.

use core_types::params::rows::AxisParams;

use super::shape::elements;

use crate::{
    BackendError, Queue, Real,
    ops::{Op, op},
};

op! {
    /// `dx = g - exp(y) sum_j g_j` for the output y of [`LogSoftmax`](super::LogSoftmax).
    ///
    /// An element with y = -inf is constant: its dx is zero and its g is left out of the sum.
    pub struct LogSoftmaxBackward<'a, Q, T: Real> as "log_softmax_backward" {
        /// The shape.
        params: plain &'a AxisParams,
        /// The output, `outer x len x inner`.
        y: read T,
        /// The gradient of the loss with respect to y.
        g: read T,
        /// The gradient with respect to x.
        dx: write T,
    }
}

impl<Q: Queue, T: Real> LogSoftmaxBackward<'_, Q, T> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`RowOps`](super::RowOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let AxisParams { outer, len, inner } = *self.params;
        self.expect([elements(&[outer, len, inner]); 3])
    }
}
