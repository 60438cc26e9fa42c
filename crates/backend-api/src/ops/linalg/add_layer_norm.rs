//! Layer normalisation of a sum.

use core_types::params::rows::NormParams;

use super::shape::{count, elements};
use crate::{
    BackendError, Queue, Real,
    ops::{Op, op},
};

op! {
    /// A residual connection and its layer norm.
    ///
    /// `sum = x + r`, added in f32 and rounded to `T`. [`LayerNorm`](super::LayerNorm) then
    /// normalises the rounded `sum`, with the same errors.
    pub struct AddLayerNorm<'a, Q, T: Real> as "add_layer_norm" {
        /// The shape, and eps.
        params: plain &'a NormParams,
        /// `rows x len`.
        x: read T,
        /// `rows x len`.
        r: read T,
        /// A factor for each column; 1 without.
        gamma: read_if T,
        /// An addend for each column; 0 without.
        beta: read_if T,
        /// `rows x len`.
        sum: write T,
        /// `rows x len`.
        y: write T,
        /// The means of all rows of the sum, then their rstd.
        stats: write f32,
    }
}

impl<Q: Queue, T: Real> AddLayerNorm<'_, Q, T> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`RowOps`](super::RowOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let NormParams { rows, len, .. } = *self.params;
        let (all, column) = (elements(&[rows, len]), count(len));
        self.expect([all, all, column, column, all, all, elements(&[rows, 2])])
    }
}
