//! Normalisation by the root of the mean square.

use core_types::params::rows::NormParams;

use super::shape::{count, elements};

use crate::{
    BackendError, Queue, Real,
    ops::{Op, op},
};

op! {
    /// `y = x rstd gamma` for each row, with `rstd = 1 / sqrt(mean(x^2) + eps)`.
    ///
    /// The notes of [`LayerNorm`](super::LayerNorm) on the variance apply to the mean square.
    pub struct RmsNorm<'a, Q, T: Real> as "rms_norm" {
        /// The shape, and eps.
        params: plain &'a NormParams,
        /// `rows x len`.
        x: read T,
        /// A factor for each column; 1 without.
        gamma: read_if T,
        /// `rows x len`.
        y: write T,
        /// The rstd of each row.
        rstd: write f32,
    }
}

impl<Q: Queue, T: Real> RmsNorm<'_, Q, T> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`RowOps`](super::RowOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let NormParams { rows, len, .. } = *self.params;
        let all = elements(&[rows, len]);
        self.expect([all, count(len), all, count(rows)])
    }
}
