//! Eigenvectors of small symmetric matrices.

use core_types::params::factor::{JacobiParams, MAX_SIDE};

use super::shape::NOT_SMALL;
use crate::ops::op;

op! {
    /// Eigenvectors of `G = B^T B` for its greatest eigenvalues.
    ///
    /// These are the right singular vectors of B. The singular values of B are written too.
    ///
    /// By one-sided Jacobi rotations of the rows of the Cholesky factor of G (Veselic, Hari, "A
    /// note on a one-sided Jacobi algorithm", 1989), in a fixed order. Vectors whose singular value
    /// is at most [`LEAST_SIGMA`](core_types::params::factor::LEAST_SIGMA) of the greatest are
    /// zero, and so is the value.
    pub struct JacobiEigen<'a, Q> as "jacobi_eigen" {
        /// How many of how many.
        params: plain &'a JacobiParams,
        /// G, a small matrix; only its upper triangle is read.
        gram: read f64 [side, side],
        /// Multiplies `vectors` and `sigma` by `2^e`, if given.
        ///
        /// `e` is the exponent of a pattern, as in [`SignSketch`](super::SignSketch).
        peak: read_if u32 [1],
        /// Unit vectors as columns, by falling singular value.
        vectors: write f64 [side, kept],
        /// The same, never multiplied, each divided by its singular value as it is without the
        /// power.
        inverse: write f64 [side, kept],
        /// The singular values, falling.
        sigma: write f32 [kept],
        /// How many of them are not zero.
        rank: write u32 [1],
    }
    sizes(self) {
        let JacobiParams { side, kept } = *self.params;
    }
    valid(self) {
        side <= MAX_SIDE, NOT_SMALL;
        kept <= side, "`kept` exceeds the number of eigenvectors";
    }
}
