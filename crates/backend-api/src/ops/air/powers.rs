//! Powers of a challenge.

use core_types::{field::QM31, params::air::SecurePowersParams};

use crate::{
    BackendError, Queue,
    ops::{Op, op},
};

op! {
    /// Writes the powers of a challenge, from the zeroth on, in either order.
    pub struct SecurePowers<'a, Q> as "secure_powers" {
        /// Number and order.
        params: plain &'a SecurePowersParams,
        /// The challenge: one element.
        base: read QM31,
        /// Its powers.
        powers: write QM31,
    }
}

impl<Q: Queue> SecurePowers<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`AirOps`](super::AirOps).
    pub fn check(&self) -> Result<(), BackendError> {
        if self.params.descending > 1 {
            return Err(BackendError::Unsupported { op: Self::NAME, why: "expected a `descending` flag of 0 or 1" });
        }
        self.expect([1, self.params.count as usize])
    }
}
