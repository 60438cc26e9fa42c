//! From coefficients to values on a larger domain.

use core_types::{
    field::{M31, Twiddle},
    params::circle::CircleExtendParams,
};

use super::shape::{columns, extension};
use crate::{
    BackendError, Queue,
    ops::{Op, op},
};

op! {
    /// Evaluates polynomials of `2^log_coefficients` coefficients on a domain at least as large.
    ///
    /// The layers at and above `log_coefficients` would only copy, so the lower ones run on each
    /// copy with its slice of the twiddles.
    pub struct CircleExtend<'a, Q> as "circle_extend" {
        /// Sizes and number of the columns.
        params: plain &'a CircleExtendParams,
        /// Twiddles of the domain.
        twiddles: read Twiddle,
        /// Columns of `2^log_coefficients`.
        coefficients: read M31,
        /// Columns of `2^log_size`.
        values: write M31,
    }
}

impl<Q: Queue> CircleExtend<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`CircleOps`](super::CircleOps).
    pub fn check(&self) -> Result<(), BackendError> {
        extension(Self::NAME, self.params)?;
        let CircleExtendParams { log_coefficients, log_size, columns: count } = *self.params;
        self.expect([columns(1, log_size - 1), columns(count, log_coefficients), columns(count, log_size)])
    }
}
