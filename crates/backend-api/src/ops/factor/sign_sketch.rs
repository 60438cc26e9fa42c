//! Matrices of random signs.

use core_types::params::factor::{MatrixParams, SketchParams};

use crate::ops::op;

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
        /// The pattern of the greatest magnitude of the matrix to be sketched.
        peak: read u32 [1],
        /// The signs.
        omega: write f32 [rows, cols],
    }
    sizes(self) {
        let MatrixParams { rows, cols } = self.params.matrix;
    }
}
