//! Sums of columns of two heights.

use core_types::{field::M31, params::air::SecureAddLiftedParams};

use crate::ops::{columns::check_log, lengths::pow2, op};

op! {
    /// Adds a smaller column of the secure field to a larger one.
    ///
    /// The value at position `p` grows by the one at
    /// [`lifted(p, log_large, log_small)`](core_types::air::lifted) of the smaller column.
    pub struct SecureAddLifted<'a, Q> as "secure_add_lifted" {
        /// Sizes.
        params: plain &'a SecureAddLiftedParams,
        /// The smaller column, in four planes.
        small: read M31 [4, pow2(log_small)],
        /// The larger column, in four planes.
        large: write M31 [4, pow2(log_large)],
    }
    sizes(self) {
        let SecureAddLiftedParams { log_small, log_large } = *self.params;
        check_log(OP, log_large)?;
    }
    valid(self) {
        (1..=log_large).contains(&log_small), "expected `log_small` in 1..=`log_large`";
    }
}
