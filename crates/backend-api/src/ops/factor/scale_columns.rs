//! Columns times factors.

use core_types::params::factor::ScaleParams;

use super::shape::elements;
use crate::{
    BackendError, Queue,
    ops::{Op, op},
};

op! {
    /// `Y = X diag(alpha f)`.
    ///
    /// Each factor is multiplied by alpha and rounded, then multiplies its column.
    pub struct ScaleColumns<'a, Q> as "scale_columns" {
        /// Shape and common factor.
        params: plain &'a ScaleParams,
        /// X.
        x: read f32,
        /// A factor for each column.
        factors: read f32,
        /// Y.
        y: write f32,
    }
}

impl<Q: Queue> ScaleColumns<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`FactorOps`](super::FactorOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let matrix = self.params.matrix;
        let all = elements(matrix.rows, matrix.cols);
        self.expect([all, elements(matrix.cols, 1), all])
    }
}
