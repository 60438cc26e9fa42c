//! From coefficients to values on a circle domain.

use core_types::{
    field::{M31, Twiddle},
    params::circle::CircleFftParams,
};

use super::shape::{columns, domain};
use crate::{
    BackendError, Queue,
    ops::{Op, op},
};

op! {
    /// Turns coefficients into values, in place, for every column.
    ///
    /// Layer `i = n-1 .. 0` maps pairs of positions that differ in bit `i`:
    /// `(a, b) -> (a + t b, a - t b)`.
    pub struct CircleEvaluate<'a, Q> as "circle_evaluate" {
        /// Size and number of the columns.
        params: plain &'a CircleFftParams,
        /// Twiddles of their domain.
        twiddles: read Twiddle,
        /// Coefficients, then values.
        columns: write M31,
    }
}

impl<Q: Queue> CircleEvaluate<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`CircleOps`](super::CircleOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let log_size = domain(Self::NAME, self.params.log_size)?;
        self.expect([columns(1, log_size - 1), columns(self.params.columns, log_size)])
    }
}
