//! The twiddles that the transforms of a domain multiply by.

use core_types::{field::Twiddle, params::circle::CircleTwiddleParams};

use super::shape::domain;
use crate::ops::{lengths::pow2, op};

op! {
    /// Writes the twiddles of a domain and their inverses.
    pub struct CircleTwiddles<'a, Q> as "circle_twiddles" {
        /// The domain.
        params: plain &'a CircleTwiddleParams,
        /// The twiddles.
        twiddles: write Twiddle [pow2(log_size - 1)],
        /// Their inverses.
        inverse_twiddles: write Twiddle [pow2(log_size - 1)],
    }
    sizes(self) {
        let log_size = self.params.log_size;
        domain(OP, log_size)?;
    }
}
