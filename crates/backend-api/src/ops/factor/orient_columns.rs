//! The signs of singular vectors.

use core_types::params::factor::ColumnPairParams;

use super::shape::{elements, indexed};
use crate::{
    BackendError, Queue,
    ops::{Op, op},
};

op! {
    /// Negates columns of U and V together, so that in each column of U the entry of largest
    /// magnitude is positive, the first of such entries.
    pub struct OrientColumns<'a, Q> as "orient_columns" {
        /// The shapes.
        params: plain &'a ColumnPairParams,
        /// U, `rows x cols`.
        u: write f32,
        /// V, `other_rows x cols`.
        v: write f32,
    }
}

impl<Q: Queue> OrientColumns<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`FactorOps`](super::FactorOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let ColumnPairParams { rows, other_rows, cols } = *self.params;
        self.expect([elements(rows, cols), elements(other_rows, cols)])?;
        indexed(Self::NAME, rows.max(other_rows))
    }
}
