//! From values on the first points of a domain to coefficients.

use core_types::{
    field::{M31, Twiddle},
    params::circle::CirclePartParams,
};

use super::shape::{columns, domain};
use crate::{
    BackendError, Queue,
    ops::{Op, op},
};

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
        inverse_twiddles: read Twiddle,
        /// Columns of `2^log_size`: values, then coefficients.
        columns: write M31,
    }
}

impl<Q: Queue> CircleInterpolatePart<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`CircleOps`](super::CircleOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let log_domain = domain(Self::NAME, self.params.log_domain)?;
        let log_size = domain(Self::NAME, self.params.log_size)?;
        if log_size > log_domain {
            return Err(BackendError::Unsupported { op: Self::NAME, why: "the part is larger than the domain" });
        }
        self.expect([columns(1, log_domain - 1), columns(self.params.columns, log_size)])
    }
}
