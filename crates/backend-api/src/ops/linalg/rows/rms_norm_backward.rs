//! The gradients of normalisation by the root of the mean square.

use core_types::params::rows::NormParams;

use crate::{Real, ops::op};

op! {
    /// The gradients of [`RmsNorm`](super::RmsNorm).
    ///
    /// With `a = g gamma` and `h = x rstd`: `dx = rstd (a - h mean(a h))`,
    /// `dgamma = sum over rows of g h`, summed as in
    /// [`LayerNormBackward`](super::LayerNormBackward).
    pub struct RmsNormBackward<'a, Q, T: Real> as "rms_norm_backward" {
        /// The shape, and eps.
        params: plain &'a NormParams,
        /// The rows.
        x: read T [rows, len],
        /// The factors of the columns, if there were any.
        gamma: read_if T [len],
        /// The rstd of each row.
        rstd: read f32 [rows],
        /// The gradient of the loss with respect to y.
        g: read T [rows, len],
        /// The gradient with respect to x.
        dx: write T [rows, len],
        /// The gradient with respect to gamma; optional.
        dgamma: write_if T [len],
    }
    sizes(self) {
        let NormParams { rows, len, .. } = *self.params;
    }
}
