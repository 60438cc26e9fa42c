//! From coefficients to values on a larger domain.

use core_types::{
    field::{M31, Twiddle},
    params::circle::CircleExtendParams,
};

use super::shape::extension;
use crate::ops::{lengths::pow2, op};

op! {
    /// Evaluates polynomials of `2^log_coefficients` coefficients on a domain at least as large.
    ///
    /// The layers at and above `log_coefficients` would only copy, so the lower ones run on each
    /// copy with its slice of the twiddles.
    pub struct CircleExtend<'a, Q> as "circle_extend" {
        /// Sizes and number of the columns.
        params: plain &'a CircleExtendParams,
        /// Twiddles of the domain.
        twiddles: read Twiddle [pow2(log_size - 1)],
        /// The coefficients.
        coefficients: read M31 [columns, pow2(log_coefficients)],
        /// The values.
        values: write M31 [columns, pow2(log_size)],
    }
    sizes(self) {
        let CircleExtendParams { log_coefficients, log_size, columns } = *self.params;
        extension(OP, log_coefficients, log_size)?;
    }
}
