//! The gradient of softmax.

use core_types::params::rows::AxisParams;

use super::shape::elements;

use crate::{
    BackendError, Queue, Real,
    ops::{Op, op},
};

op! {
    /// `dx = y (g - sum_j g_j y_j)` for the output y of [`Softmax`](super::Softmax).
    ///
    /// An element with y = 0, such as one left out, is constant: its dx is zero and its g is left
    /// out of the sum.
    pub struct SoftmaxBackward<'a, Q, T: Real> as "softmax_backward" {
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

impl<Q: Queue, T: Real> SoftmaxBackward<'_, Q, T> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`RowOps`](super::RowOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let AxisParams { outer, len, inner } = *self.params;
        self.expect([elements(&[outer, len, inner]); 3])
    }
}
