//! Values of polynomials at a point outside their domain.

use core_types::{
    circle::MAX_LOG_DOMAIN,
    field::{M31, QM31},
    params::circle::CirclePointParams,
};

use crate::ops::{lengths::pow2, op};

op! {
    /// Evaluates every column of coefficients at one point over the secure field.
    pub struct CircleEvalAtPoint<'a, Q> as "circle_eval_at_point" {
        /// The point, and size and number of the columns.
        params: plain &'a CirclePointParams,
        /// The coefficients.
        coefficients: read M31 [columns, pow2(log_size)],
        /// One value for each column.
        results: write QM31 [columns],
    }
    sizes(self) {
        let CirclePointParams { log_size, columns, .. } = *self.params;
    }
    valid(self) {
        log_size <= MAX_LOG_DOMAIN, "expected at most 2^30 coefficients";
    }
}
