//! From coefficients to values on a circle domain.

use core_types::{
    field::{M31, Twiddle},
    params::circle::CircleFftParams,
};

use super::shape::domain;
use crate::ops::{lengths::pow2, op};

op! {
    /// Turns coefficients into values, in place, for every column.
    ///
    /// Layer `i = n-1 .. 0` maps pairs of positions that differ in bit `i`:
    /// `(a, b) -> (a + t b, a - t b)`.
    pub struct CircleEvaluate<'a, Q> as "circle_evaluate" {
        /// Size and number of the columns.
        params: plain &'a CircleFftParams,
        /// Twiddles of their domain.
        twiddles: read Twiddle [pow2(log_size - 1)],
        /// Coefficients, then values.
        columns: write M31 [columns, pow2(log_size)],
    }
    sizes(self) {
        let CircleFftParams { log_size, columns } = *self.params;
        domain(OP, log_size)?;
    }
}
