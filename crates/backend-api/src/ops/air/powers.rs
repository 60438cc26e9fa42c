//! Powers of a challenge.

use core_types::{field::QM31, params::air::SecurePowersParams};

use crate::ops::op;

op! {
    /// Writes the powers of a challenge, from the zeroth on, in either order.
    pub struct SecurePowers<'a, Q> as "secure_powers" {
        /// Number and order.
        params: plain &'a SecurePowersParams,
        /// The challenge.
        base: read QM31 [1],
        /// Its powers.
        powers: write QM31 [count],
    }
    sizes(self) {
        let SecurePowersParams { count, descending } = *self.params;
    }
    valid(self) {
        descending <= 1, "expected a `descending` flag of 0 or 1";
    }
}
