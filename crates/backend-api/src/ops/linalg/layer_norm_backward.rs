//! The gradients of layer normalisation.

use core_types::params::rows::NormParams;

use super::shape::{count, elements};

use crate::{
    BackendError, Queue, Real,
    ops::{Op, op},
};

op! {
    /// The gradients of [`LayerNorm`](super::LayerNorm).
    ///
    /// With `a = g gamma` and `h = (x - mean) rstd`: `dx = rstd (a - mean(a) - h mean(a h))`,
    /// `dgamma = sum over rows of g h`, `dbeta = sum over rows of g`; rows are summed in blocks of
    /// [`NORM_BLOCK_ROWS`](core_types::params::rows::NORM_BLOCK_ROWS), which takes scratch memory.
    pub struct LayerNormBackward<'a, Q, T: Real> as "layer_norm_backward" {
        /// The shape, and eps.
        params: plain &'a NormParams,
        /// `rows x len`.
        x: read T,
        /// The factors of the columns, if there were any.
        gamma: read_if T,
        /// The means of all rows, then their rstd.
        stats: read f32,
        /// The gradient of the loss with respect to y.
        g: read T,
        /// The gradient with respect to x.
        dx: write T,
        /// The gradient with respect to gamma; optional.
        dgamma: write_if T,
        /// The gradient with respect to beta; optional.
        dbeta: write_if T,
    }
}

impl<Q: Queue, T: Real> LayerNormBackward<'_, Q, T> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`RowOps`](super::RowOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let NormParams { rows, len, .. } = *self.params;
        let (all, column) = (elements(&[rows, len]), count(len));
        self.expect([all, column, elements(&[rows, 2]), all, all, column, column])
    }
}
