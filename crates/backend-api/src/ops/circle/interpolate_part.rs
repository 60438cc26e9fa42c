//! From values on the first points of a domain to coefficients.

use core_types::{
    field::{M31, Twiddle},
    params::circle::CirclePartParams,
};

use super::shape::domain;
use crate::ops::{lengths::pow2, op};

op! {
    /// Interpolates every column on the first `2^log_size` stored positions of a canonic domain.
    ///
    /// The coefficients replace the values in place.
    ///
    /// These points form a circle domain; each of its twiddle layers is a prefix of the whole
    /// domain's layer. The polynomial of `2^log_size` coefficients with these values is the same on
    /// the whole domain.
    pub struct CircleInterpolatePart<'a, Q> as "circle_interpolate_part" {
        /// Sizes and number of the columns.
        params: plain &'a CirclePartParams,
        /// Inverses of the twiddles of the whole domain.
        inverse_twiddles: read Twiddle [pow2(log_domain - 1)],
        /// Values, then coefficients.
        columns: write M31 [columns, pow2(log_size)],
    }
    sizes(self) {
        let CirclePartParams { log_size, log_domain, columns } = *self.params;
        domain(OP, log_domain)?;
        domain(OP, log_size)?;
    }
    valid(self) {
        log_size <= log_domain, "the part is larger than the domain";
    }
}
