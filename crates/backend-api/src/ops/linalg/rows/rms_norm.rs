//! Normalisation by the root of the mean square.

use core_types::params::rows::NormParams;

use crate::{Real, ops::op};

op! {
    /// `y = x rstd gamma` for each row, with `rstd = 1 / sqrt(mean(x^2) + eps)`.
    ///
    /// The notes of [`LayerNorm`](super::LayerNorm) on the variance apply to the mean square.
    pub struct RmsNorm<'a, Q, T: Real> as "rms_norm" {
        /// The shape, and eps.
        params: plain &'a NormParams,
        /// The rows.
        x: read T [rows, len],
        /// A factor for each column; 1 without.
        gamma: read_if T [len],
        /// The normalised rows.
        y: write T [rows, len],
        /// The rstd of each row.
        rstd: write f32 [rows],
    }
    sizes(self) {
        let NormParams { rows, len, .. } = *self.params;
    }
}
