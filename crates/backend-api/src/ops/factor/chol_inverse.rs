//! What makes columns orthonormal, from their Gram matrix.

use super::shape::{elements, small};
use crate::{
    BackendError, Queue,
    ops::{Op, op},
};

op! {
    /// The inverse C of the Cholesky factor of `G = Y^T Y`.
    ///
    /// C is upper triangular, and the columns of `Y C` are orthonormal.
    ///
    /// A column of Y that depends on those before it, up to what f32 holds of it
    /// ([`least_pivot`](core_types::params::factor::least_pivot)), is left out: its column of C is
    /// zero.
    pub struct CholInverse<'a, Q> as "chol_inverse" {
        /// Rows and columns of G.
        side: plain usize,
        /// G, a small matrix; only its upper triangle is read.
        gram: read f64,
        /// Multiplies C by `2^-e`, if given.
        ///
        /// `e` is the exponent of a pattern of one word, as in [`SignSketch`](super::SignSketch).
        peak: read_if u32,
        /// C, zero below the diagonal.
        inverse: write f64,
    }
}

impl<Q: Queue> CholInverse<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`FactorOps`](super::FactorOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let side = self.side as u64;
        self.expect([elements(side, side), 1, elements(side, side)])?;
        small(Self::NAME, [side, side])
    }
}
