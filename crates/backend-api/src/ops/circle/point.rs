//! Values of polynomials at a point outside their domain.

use core_types::{
    circle::MAX_LOG_DOMAIN,
    field::{M31, QM31},
    params::circle::CirclePointParams,
};

use super::shape::columns;
use crate::{
    BackendError, Queue,
    ops::{Op, op},
};

op! {
    /// Evaluates every column of coefficients at one point over the secure field.
    pub struct CircleEvalAtPoint<'a, Q> as "circle_eval_at_point" {
        /// The point, and size and number of the columns.
        params: plain &'a CirclePointParams,
        /// Columns of `2^log_size`.
        coefficients: read M31,
        /// One value for each column.
        results: write QM31,
    }
}

impl<Q: Queue> CircleEvalAtPoint<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`CircleOps`](super::CircleOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let CirclePointParams { log_size, columns: count, .. } = *self.params;
        if log_size > MAX_LOG_DOMAIN {
            let why = "expected at most 2^30 coefficients";
            return Err(BackendError::Unsupported { op: Self::NAME, why });
        }
        self.expect([columns(count, log_size), columns(count, 0)])
    }
}
