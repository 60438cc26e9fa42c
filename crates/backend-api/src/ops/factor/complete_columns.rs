//! Columns that make others an orthonormal set.

use core_types::params::factor::MatrixParams;

use super::shape::TOO_MANY_ROWS;
use crate::ops::op;

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
        /// How many columns stay.
        rank: read u32 [1],
        /// X.
        x: write f32 [rows, cols],
    }
    sizes(self) {
        let MatrixParams { rows, cols } = *self.params;
    }
    valid(self) {
        rows < 1 << 31, TOO_MANY_ROWS;
        cols <= rows, "there are more columns than rows";
    }
}
