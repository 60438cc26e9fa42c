//! Folds of a layer.

use core_types::{
    field::{M31, QM31, Twiddle},
    params::fri::FriFoldParams,
};

use crate::{
    BackendError, Queue,
    ops::{
        Op,
        columns::{check_log, planes},
        op,
    },
};

op! {
    /// Folds a layer one to `log_size` times.
    ///
    /// The first fold uses the challenge, the second its square, and so on.
    pub struct FriFold<'a, Q> as "fri_fold" {
        /// Number of values and of folds.
        params: plain &'a FriFoldParams,
        /// Inverse twiddles of the canonic domain of [`log_domain`](FriFoldParams::log_domain).
        inverse_twiddles: read Twiddle,
        /// The challenge: one element.
        challenge: read QM31,
        /// Four planes of `2^log_size` words.
        values: read M31,
        /// Four planes of `2^(log_size - folds)` words.
        folded: write M31,
    }
}

impl<Q: Queue> FriFold<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`FriOps`](super::FriOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let FriFoldParams { log_size, folds, on_circle } = *self.params;
        if on_circle > 1 || !(1..=log_size).contains(&folds) {
            let why = "expected `on_circle` of 0 or 1 and `folds` in 1..=`log_size`";
            return Err(BackendError::Unsupported { op: Self::NAME, why });
        }
        check_log(Self::NAME, log_size)?;
        check_log(Self::NAME, self.params.log_domain())?;
        let twiddles = 1 << (self.params.log_domain() - 1);
        self.expect([twiddles, 1, planes(1, log_size), planes(1, log_size - folds)])
    }
}
