//! Products of tall matrices and small ones.

use core_types::params::factor::{MAX_SIDE, TallParams};

use super::shape::{NOT_SMALL, TOO_MANY_ROWS};
use crate::ops::op;

op! {
    /// `Y = X C` with f64 sums, each rounded to f32 once.
    ///
    /// Coefficients may be so large that f32 sums would lose all digits.
    pub struct TallProduct<'a, Q> as "tall_product" {
        /// The shapes.
        params: plain &'a TallParams,
        /// X.
        x: read f32 [rows, inner],
        /// C, a small matrix.
        c: read f64 [inner, cols],
        /// Y.
        y: write f32 [rows, cols],
    }
    sizes(self) {
        let TallParams { rows, inner, cols } = *self.params;
    }
    valid(self) {
        rows < 1 << 31, TOO_MANY_ROWS;
        inner.max(cols) <= MAX_SIDE, NOT_SMALL;
    }
}
