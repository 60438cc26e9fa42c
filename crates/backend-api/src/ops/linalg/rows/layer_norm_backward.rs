//! The gradients of layer normalisation.

use core_types::params::rows::NormParams;

use crate::{Real, ops::op};

op! {
    /// The gradients of [`LayerNorm`](super::LayerNorm).
    ///
    /// With `a = g gamma` and `h = (x - mean) rstd`: `dx = rstd (a - mean(a) - h mean(a h))`,
    /// `dgamma = sum over rows of g h`, `dbeta = sum over rows of g`; rows are summed in blocks of
    /// [`NORM_BLOCK_ROWS`](core_types::params::rows::NORM_BLOCK_ROWS), which takes scratch memory.
    pub struct LayerNormBackward<'a, Q, T: Real> as "layer_norm_backward" {
        /// The shape, and eps.
        params: plain &'a NormParams,
        /// The rows.
        x: read T [rows, len],
        /// The factors of the columns, if there were any.
        gamma: read_if T [len],
        /// The means of all rows, then their rstd.
        stats: read f32 [2, rows],
        /// The gradient of the loss with respect to y.
        g: read T [rows, len],
        /// The gradient with respect to x.
        dx: write T [rows, len],
        /// The gradient with respect to gamma; optional.
        dgamma: write_if T [len],
        /// The gradient with respect to beta; optional.
        dbeta: write_if T [len],
    }
    sizes(self) {
        let NormParams { rows, len, .. } = *self.params;
    }
}
