//! Columns times factors.

use core_types::params::factor::{MatrixParams, ScaleParams};

use crate::ops::op;

op! {
    /// `Y = X diag(alpha f)`.
    ///
    /// Each factor is multiplied by alpha and rounded, then multiplies its column.
    pub struct ScaleColumns<'a, Q> as "scale_columns" {
        /// Shape and common factor.
        params: plain &'a ScaleParams,
        /// X.
        x: read f32 [rows, cols],
        /// A factor for each column.
        factors: read f32 [cols],
        /// Y.
        y: write f32 [rows, cols],
    }
    sizes(self) {
        let MatrixParams { rows, cols } = self.params.matrix;
    }
}
