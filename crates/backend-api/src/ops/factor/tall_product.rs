//! Products of tall matrices and small ones.

use core_types::params::factor::TallParams;

use super::shape::{elements, indexed, small};
use crate::{
    BackendError, Queue,
    ops::{Op, op},
};

op! {
    /// `Y = X C` with f64 sums, each rounded to f32 once.
    ///
    /// Coefficients may be so large that f32 sums would lose all digits.
    pub struct TallProduct<'a, Q> as "tall_product" {
        /// The shapes.
        params: plain &'a TallParams,
        /// X.
        x: read f32,
        /// C, a small matrix.
        c: read f64,
        /// Y.
        y: write f32,
    }
}

impl<Q: Queue> TallProduct<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`FactorOps`](super::FactorOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let TallParams { rows, inner, cols } = *self.params;
        self.expect([elements(rows, inner), elements(inner, cols), elements(rows, cols)])?;
        indexed(Self::NAME, rows)?;
        small(Self::NAME, [inner, cols])
    }
}
