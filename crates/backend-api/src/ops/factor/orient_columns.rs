//! The signs of singular vectors.

use core_types::params::factor::ColumnPairParams;

use super::shape::{elements, indexed};
use crate::{
    BackendError, Queue,
    ops::{Op, op},
};

op! {
    /// Orients the columns of U and V by the signs of U.
    ///
    /// Columns of U and V are negated together, so that the entry of largest magnitude in each
    /// column of U is positive. Among entries of equal magnitude, the first counts.
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
