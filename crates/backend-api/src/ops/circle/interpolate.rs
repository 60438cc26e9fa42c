//! From values on a circle domain to coefficients.

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
    /// Turns values into coefficients, in place, for every column.
    ///
    /// Layer `i = 0 .. n-1` maps pairs of positions that differ in bit `i`:
    /// `(a, b) -> (a + b, (a - b) / t)`; then everything is divided by `N`.
    pub struct CircleInterpolate<'a, Q> as "circle_interpolate" {
        /// Size and number of the columns.
        params: plain &'a CircleFftParams,
        /// Inverses of the twiddles of their domain.
        inverse_twiddles: read Twiddle,
        /// Values, then coefficients.
        columns: write M31,
    }
}

impl<Q: Queue> CircleInterpolate<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`CircleOps`](super::CircleOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let log_size = domain(Self::NAME, self.params.log_size)?;
        self.expect([columns(1, log_size - 1), columns(self.params.columns, log_size)])
    }
}
