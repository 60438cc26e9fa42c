//! From values on a circle domain to coefficients.

use core_types::{
    field::{M31, Twiddle},
    params::circle::CircleFftParams,
};

use super::shape::domain;
use crate::ops::{lengths::pow2, op};

op! {
    /// Turns values into coefficients, in place, for every column.
    ///
    /// Layer `i = 0 .. n-1` maps pairs of positions that differ in bit `i`:
    /// `(a, b) -> (a + b, (a - b) / t)`; then everything is divided by `N`.
    pub struct CircleInterpolate<'a, Q> as "circle_interpolate" {
        /// Size and number of the columns.
        params: plain &'a CircleFftParams,
        /// Inverses of the twiddles of their domain.
        inverse_twiddles: read Twiddle [pow2(log_size - 1)],
        /// Values, then coefficients.
        columns: write M31 [columns, pow2(log_size)],
    }
    sizes(self) {
        let CircleFftParams { log_size, columns } = *self.params;
        domain(OP, log_size)?;
    }
}
