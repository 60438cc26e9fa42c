//! The polynomial of the last layer.

use core_types::{
    field::{M31, QM31, Twiddle},
    params::fri::FriLastLayerParams,
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
    /// Interpolates a layer on its line and writes the lowest coefficients.
    ///
    /// Places are bit-reversed: place `k` holds the coefficient whose number has the `log_bound`
    /// bits of `k` in reverse. Coefficient bits `b0 b1 ..` multiply `x^b0 pi(x)^b1 ..`.
    pub struct FriLastLayer<'a, Q> as "fri_last_layer" {
        /// Number of values and of coefficients.
        params: plain &'a FriLastLayerParams,
        /// Inverse twiddles of the canonic domain of `2^(log_size + 1)` points.
        inverse_twiddles: read Twiddle,
        /// Four planes of `2^log_size` words.
        values: read M31,
        /// `2^log_bound` coefficients.
        coefficients: write QM31,
        /// One word: 1 if a higher coefficient is not zero, else 0.
        ///
        /// 1 means that the values are not of low degree.
        excess: write u32,
    }
}

impl<Q: Queue> FriLastLayer<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`FriOps`](super::FriOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let FriLastLayerParams { log_size, log_bound } = *self.params;
        check_log(Self::NAME, log_size.saturating_add(1))?;
        if log_bound > log_size {
            return Err(BackendError::Unsupported {
                op: Self::NAME,
                why: "more coefficients than values: `log_bound` exceeds `log_size`",
            });
        }
        self.expect([1 << log_size, planes(1, log_size), 1 << log_bound, 1])
    }
}
