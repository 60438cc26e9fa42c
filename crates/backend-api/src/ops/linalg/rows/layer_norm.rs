//! Layer normalisation.

use core_types::params::rows::NormParams;

use crate::{Real, ops::op};

op! {
    /// Layer norm of each row, `y = (x - mean) rstd gamma + beta`.
    ///
    /// `rstd = 1 / sqrt(variance + eps)`, with the biased variance.
    ///
    /// The mean is corrected by the mean of the residuals, so a mean of 10^4 standard deviations
    /// costs no accuracy, and rows whose squares would leave the range of f32 are scaled, so every
    /// finite row has a result.
    ///
    /// [`Undefined`](crate::BackendError::Undefined) with the first row where variance and eps are
    /// both zero; outputs are then unspecified. With an eps of zero the op waits to check for this,
    /// so it cannot be recorded.
    pub struct LayerNorm<'a, Q, T: Real> as "layer_norm" {
        /// The shape, and eps.
        params: plain &'a NormParams,
        /// The rows.
        x: read T [rows, len],
        /// A factor for each column; 1 without.
        gamma: read_if T [len],
        /// An addend for each column; 0 without.
        beta: read_if T [len],
        /// The normalised rows.
        y: write T [rows, len],
        /// The means of all rows, then their rstd.
        stats: write f32 [2, rows],
    }
    sizes(self) {
        let NormParams { rows, len, .. } = *self.params;
    }
}
