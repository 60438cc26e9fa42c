//! Columns that make others an orthonormal set.

use core_types::params::factor::MatrixParams;

use super::shape::{elements, indexed};
use crate::{
    BackendError, Queue,
    ops::{Op, op},
};

op! {
    /// Replaces the columns from `rank` on so that all columns are orthonormal.
    ///
    /// The columns before `rank` must be orthonormal.
    ///
    /// A column becomes the unit vector of the row with the least part in the columns before it,
    /// the first of such rows, without its projection on those. Without any column before, they are
    /// the first unit vectors.
    pub struct CompleteColumns<'a, Q> as "complete_columns" {
        /// The shape of X, with at most one column per row.
        params: plain &'a MatrixParams,
        /// One word.
        rank: read u32,
        /// X.
        x: write f32,
    }
}

impl<Q: Queue> CompleteColumns<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`FactorOps`](super::FactorOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let MatrixParams { rows, cols } = *self.params;
        self.expect([1, elements(rows, cols)])?;
        indexed(Self::NAME, rows)?;
        if cols > rows {
            return Err(BackendError::Unsupported { op: Self::NAME, why: "there are more columns than rows" });
        }
        Ok(())
    }
}
