//! What makes columns orthonormal, from their Gram matrix.

use core_types::params::factor::MAX_SIDE;

use super::shape::NOT_SMALL;
use crate::ops::op;

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
        gram: read f64 [side, side],
        /// Multiplies C by `2^-e`, if given.
        ///
        /// `e` is the exponent of a pattern, as in [`SignSketch`](super::SignSketch).
        peak: read_if u32 [1],
        /// C, zero below the diagonal.
        inverse: write f64 [side, side],
    }
    sizes(self) {
        let side = self.side as u64;
    }
    valid(self) {
        side <= MAX_SIDE, NOT_SMALL;
    }
}
