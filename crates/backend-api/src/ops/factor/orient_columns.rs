//! The signs of singular vectors.

use core_types::params::factor::ColumnPairParams;

use super::shape::TOO_MANY_ROWS;
use crate::ops::op;

op! {
    /// Orients the columns of U and V by the signs of U.
    ///
    /// Columns of U and V are negated together, so that the entry of largest magnitude in each
    /// column of U is positive. Among entries of equal magnitude, the first counts.
    pub struct OrientColumns<'a, Q> as "orient_columns" {
        /// The shapes.
        params: plain &'a ColumnPairParams,
        /// U.
        u: write f32 [rows, cols],
        /// V.
        v: write f32 [other_rows, cols],
    }
    sizes(self) {
        let ColumnPairParams { rows, other_rows, cols } = *self.params;
    }
    valid(self) {
        rows.max(other_rows) < 1 << 31, TOO_MANY_ROWS;
    }
}
