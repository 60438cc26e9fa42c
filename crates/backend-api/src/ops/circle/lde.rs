//! Low-degree extension: interpolation and extension in one op.

use core_types::{
    field::{M31, Twiddle},
    params::circle::CircleExtendParams,
};

use super::shape::{domain, extension};
use crate::ops::{lengths::pow2, op};

op! {
    /// Interpolates columns in place and evaluates them on a domain at least as large.
    ///
    /// It combines [`CircleInterpolate`](super::CircleInterpolate) and
    /// [`CircleExtend`](super::CircleExtend), for devices on which this saves a pass over memory.
    pub struct CircleLde<'a, Q> as "circle_lde" {
        /// Sizes and number of the columns.
        params: plain &'a CircleExtendParams,
        /// Inverses of the twiddles of the smaller domain.
        inverse_twiddles: read Twiddle [pow2(log_coefficients - 1)],
        /// Twiddles of the larger one.
        twiddles: read Twiddle [pow2(log_size - 1)],
        /// Values, then coefficients.
        columns: write M31 [columns, pow2(log_coefficients)],
        /// The values on the larger domain.
        values: write M31 [columns, pow2(log_size)],
    }
    sizes(self) {
        let CircleExtendParams { log_coefficients, log_size, columns } = *self.params;
        extension(OP, log_coefficients, log_size)?;
        domain(OP, log_coefficients)?;
    }
}
