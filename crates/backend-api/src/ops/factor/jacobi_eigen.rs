//! Eigenvectors of small symmetric matrices.

use core_types::params::factor::JacobiParams;

use super::shape::{elements, small};
use crate::{
    BackendError, Queue,
    ops::{Op, op},
};

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
        gram: read f64,
        /// Multiplies `vectors` and `sigma` by `2^e`, if given.
        ///
        /// `e` is the exponent of a pattern of one word, as in [`SignSketch`](super::SignSketch).
        peak: read_if u32,
        /// Unit vectors as columns, `side x kept`, by falling singular value.
        vectors: write f64,
        /// The same, never multiplied, each divided by its singular value as it is without the
        /// power.
        inverse: write f64,
        /// `kept` singular values, falling.
        sigma: write f32,
        /// How many of them are not zero: one word.
        rank: write u32,
    }
}

impl<Q: Queue> JacobiEigen<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`FactorOps`](super::FactorOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let JacobiParams { side, kept } = *self.params;
        let vectors = elements(side, kept);
        self.expect([elements(side, side), 1, vectors, vectors, elements(kept, 1), 1])?;
        small(Self::NAME, [side, side])?;
        if kept > side {
            return Err(BackendError::Unsupported { op: Self::NAME, why: "`kept` exceeds the number of eigenvectors" });
        }
        Ok(())
    }
}
