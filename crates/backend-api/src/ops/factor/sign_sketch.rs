//! Matrices of random signs.

use core_types::params::factor::SketchParams;

use super::shape::elements;
use crate::{
    BackendError, Queue,
    ops::{Op, op},
};

op! {
    /// Random signs times `2^-e`.
    ///
    /// `e` is the exponent returned by
    /// [`scale_exponent`](core_types::params::factor::scale_exponent).
    ///
    /// The product of a matrix and these signs is a sketch of its range: Halko, Martinsson, Tropp,
    /// "Finding Structure with Randomness", 2011, with signs in the place of normal variables. They
    /// are the same bits on every backend.
    pub struct SignSketch<'a, Q> as "sign_sketch" {
        /// Shape and seed.
        params: plain &'a SketchParams,
        /// The pattern of the greatest magnitude of the matrix to be sketched: one word.
        peak: read u32,
        /// The signs.
        omega: write f32,
    }
}

impl<Q: Queue> SignSketch<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`FactorOps`](super::FactorOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let matrix = self.params.matrix;
        self.expect([1, elements(matrix.rows, matrix.cols)])
    }
}
