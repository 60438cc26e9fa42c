//! Quotients.

use core_types::{
    field::{M31, QM31},
    params::deep::{DeepBatch, DeepQuotientsParams},
};

use crate::{
    BackendError, BufferRef, Queue,
    ops::{
        Op,
        columns::{check_log, planes},
        op,
    },
};

op! {
    /// Writes the sum of all quotients at the first positions of a canonic domain.
    ///
    /// A batch with `2^l` numerators among positions `p` of `2^n` gives the one at
    /// [`lifted(p, n, l)`](core_types::air::lifted). Batches of one point, which follow each other,
    /// share its denominator; where that is zero, they add nothing.
    pub struct DeepQuotients<'a, Q> as "deep_quotients" {
        /// The domain.
        params: plain &'a DeepQuotientsParams,
        /// All batches.
        batches: plain &'a [DeepBatch],
        /// `[points][2]`: x and y.
        points: read QM31,
        /// `[batches][2]`: slope and constant.
        lines: read QM31,
        /// Four planes of `2^log_size` words for each batch, one batch after the other.
        ///
        /// `log_size` is the size of the batch.
        numerators: read M31,
        /// Four planes of `2^log_size` words.
        quotients: write M31,
    }
}

impl<Q: Queue> DeepQuotients<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`DeepOps`](super::DeepOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let DeepQuotientsParams { log_size, log_domain } = *self.params;
        check_log(Self::NAME, log_domain)?;
        let refused = |why| Err(BackendError::Unsupported { op: Self::NAME, why });
        if log_size > log_domain || log_domain == 0 {
            return refused("expected `log_domain` in 1..=30 and `log_size` of at most `log_domain`");
        }
        let points = self.points.len();
        let mut numerators = 0usize;
        for batch in self.batches {
            if batch.point as usize >= points / 2 {
                return refused("a batch refers to a point out of range");
            }
            if batch.log_size > log_size {
                return refused("a batch has more numerators than positions");
            }
            if batch.log_size == 0 && log_size > 0 {
                return refused("a batch has 1 numerator, expected at least 2 (both points of a pair)");
            }
            numerators = numerators.saturating_add(planes(1, batch.log_size));
        }
        self.expect([points, self.batches.len().saturating_mul(2), numerators, planes(1, log_size)])
    }
}
