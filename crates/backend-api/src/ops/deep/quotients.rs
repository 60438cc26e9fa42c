//! Quotients.

use core_types::{
    field::{M31, QM31},
    params::deep::{DeepBatch, DeepQuotientsParams},
};

use crate::{
    BufferRef,
    ops::{columns::check_log, lengths::pow2, op},
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
        /// Slope and constant of each batch.
        lines: read QM31 [batches, 2],
        /// Four planes of `2^log_size` words for each batch, one batch after the other.
        ///
        /// `log_size` is the size of the batch.
        numerators: read M31 [words],
        /// The quotients, in four planes.
        quotients: write M31 [4, pow2(log_size)],
    }
    sizes(self) {
        let DeepQuotientsParams { log_size, log_domain } = *self.params;
        check_log(OP, log_domain)?;
        let (batches, points) = (self.batches.len(), self.points.len() / 2);
        let planes = |batch: &DeepBatch| pow2(batch.log_size).saturating_mul(4);
        let words = self.batches.iter().map(planes).fold(0, u64::saturating_add);
    }
    valid(self) {
        log_domain >= 1 && log_size <= log_domain,
            "expected `log_domain` in 1..=30 and `log_size` of at most `log_domain`";
        self.batches.iter().all(|batch| (batch.point as usize) < points), "a batch refers to a point out of range";
        self.batches.iter().all(|batch| batch.log_size <= log_size), "a batch has more numerators than positions";
        log_size == 0 || self.batches.iter().all(|batch| batch.log_size >= 1),
            "a batch has 1 numerator, expected at least 2 (both points of a pair)";
    }
}
