//! The twiddles that the transforms of a domain multiply by.

use core_types::{field::Twiddle, params::circle::CircleTwiddleParams};

use super::shape::{columns, domain};
use crate::{
    BackendError, Queue,
    ops::{Op, op},
};

op! {
    /// Writes the twiddles of a domain and their inverses.
    pub struct CircleTwiddles<'a, Q> as "circle_twiddles" {
        /// The domain.
        params: plain &'a CircleTwiddleParams,
        /// The `N / 2` twiddles.
        twiddles: write Twiddle,
        /// Their inverses.
        inverse_twiddles: write Twiddle,
    }
}

impl<Q: Queue> CircleTwiddles<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`CircleOps`](super::CircleOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let log_size = domain(Self::NAME, self.params.log_size)?;
        self.expect([columns(1, log_size - 1); 2])
    }
}
