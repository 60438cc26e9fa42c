//! The gradients of normalisation by the root of the mean square.

use core_types::params::rows::NormParams;

use super::shape::{count, elements};

use crate::{
    BackendError, Queue, Real,
    ops::{Op, op},
};

op! {
    /// The gradients of [`RmsNorm`](super::RmsNorm).
    ///
    /// With `a = g gamma` and `h = x rstd`: `dx = rstd (a - h mean(a h))`,
    /// `dgamma = sum over rows of g h`, summed as in
    /// [`LayerNormBackward`](super::LayerNormBackward).
    pub struct RmsNormBackward<'a, Q, T: Real> as "rms_norm_backward" {
        /// The shape, and eps.
        params: plain &'a NormParams,
        /// `rows x len`.
        x: read T,
        /// The factors of the columns, if there were any.
        gamma: read_if T,
        /// The rstd of each row.
        rstd: read f32,
        /// The gradient of the loss with respect to y.
        g: read T,
        /// The gradient with respect to x.
        dx: write T,
        /// The gradient with respect to gamma; optional.
        dgamma: write_if T,
    }
}

impl<Q: Queue, T: Real> RmsNormBackward<'_, Q, T> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`RowOps`](super::RowOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let NormParams { rows, len, .. } = *self.params;
        let (all, column) = (elements(&[rows, len]), count(len));
        self.expect([all, column, count(rows), all, all, column])
    }
}
