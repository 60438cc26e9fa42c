//! Low-degree extension: interpolation and extension in one op.

use core_types::{
    field::{M31, Twiddle},
    params::circle::CircleExtendParams,
};

use super::shape::{columns, domain, extension};
use crate::{
    BackendError, Queue,
    ops::{Op, op},
};

op! {
    /// Interpolates columns in place and evaluates them on a domain at least as large.
    ///
    /// It combines [`CircleInterpolate`](super::CircleInterpolate) and
    /// [`CircleExtend`](super::CircleExtend), for devices on which this saves a pass over memory.
    pub struct CircleLde<'a, Q> as "circle_lde" {
        /// Sizes and number of the columns.
        params: plain &'a CircleExtendParams,
        /// Inverses of the twiddles of the smaller domain.
        inverse_twiddles: read Twiddle,
        /// Twiddles of the larger one.
        twiddles: read Twiddle,
        /// Columns of `2^log_coefficients`: values, then coefficients.
        columns: write M31,
        /// Columns of `2^log_size`.
        values: write M31,
    }
}

impl<Q: Queue> CircleLde<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`CircleOps`](super::CircleOps).
    pub fn check(&self) -> Result<(), BackendError> {
        extension(Self::NAME, self.params)?;
        let CircleExtendParams { log_coefficients, log_size, columns: count } = *self.params;
        let log_small = domain(Self::NAME, log_coefficients)?;
        let twiddles = [columns(1, log_small - 1), columns(1, log_size - 1)];
        self.expect([twiddles[0], twiddles[1], columns(count, log_coefficients), columns(count, log_size)])
    }
}
