//! Gram matrices of tall matrices.

use core_types::params::factor::MatrixParams;

use super::shape::{elements, indexed, small};
use crate::{
    BackendError, Queue,
    ops::{Op, op},
};

op! {
    /// `G = X^T X` with exact products and f64 sums, in an order that depends on the shape alone.
    pub struct TallGram<'a, Q> as "tall_gram" {
        /// The shape of X.
        params: plain &'a MatrixParams,
        /// X.
        x: read f32,
        /// G, a small matrix.
        gram: write f64,
    }
}

impl<Q: Queue> TallGram<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`FactorOps`](super::FactorOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let MatrixParams { rows, cols } = *self.params;
        self.expect([elements(rows, cols), elements(cols, cols)])?;
        indexed(Self::NAME, rows)?;
        small(Self::NAME, [cols, cols])
    }
}
