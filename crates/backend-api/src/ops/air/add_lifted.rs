//! Sums of columns of two heights.

use core_types::{field::M31, params::air::SecureAddLiftedParams};

use crate::{
    BackendError, Queue,
    ops::{
        Op,
        columns::{check_log, planes},
        op,
    },
};

op! {
    /// Adds a smaller column of the secure field to a larger one.
    ///
    /// The value at position `p` grows by the one at
    /// [`lifted(p, log_large, log_small)`](core_types::air::lifted) of the smaller column.
    pub struct SecureAddLifted<'a, Q> as "secure_add_lifted" {
        /// Sizes.
        params: plain &'a SecureAddLiftedParams,
        /// Four planes of `2^log_small` words.
        small: read M31,
        /// Four planes of `2^log_large` words.
        large: write M31,
    }
}

impl<Q: Queue> SecureAddLifted<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`AirOps`](super::AirOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let SecureAddLiftedParams { log_small, log_large } = *self.params;
        check_log(Self::NAME, log_large)?;
        if !(1..=log_large).contains(&log_small) {
            let why = "expected `log_small` in 1..=`log_large`";
            return Err(BackendError::Unsupported { op: Self::NAME, why });
        }
        self.expect([planes(1, log_small), planes(1, log_large)])
    }
}
