//! Gram matrices of tall matrices.

use core_types::params::factor::{MAX_SIDE, MatrixParams};

use super::shape::{NOT_SMALL, TOO_MANY_ROWS};
use crate::ops::op;

op! {
    /// `G = X^T X` with exact products and f64 sums, in an order that depends on the shape alone.
    pub struct TallGram<'a, Q> as "tall_gram" {
        /// The shape of X.
        params: plain &'a MatrixParams,
        /// X.
        x: read f32 [rows, cols],
        /// G, a small matrix.
        gram: write f64 [cols, cols],
    }
    sizes(self) {
        let MatrixParams { rows, cols } = *self.params;
    }
    valid(self) {
        rows < 1 << 31, TOO_MANY_ROWS;
        cols <= MAX_SIDE, NOT_SMALL;
    }
}
