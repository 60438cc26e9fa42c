//! The lines through claimed values.

use core_types::{
    field::QM31,
    params::deep::{DeepBatch, DeepTerm},
};

use crate::{
    BackendError, BufferRef, Queue,
    ops::{Op, op},
};

op! {
    /// Computes the coefficients of the quotients.
    ///
    /// Each claim is multiplied by its power of the challenge: one `factor` per term, and per batch
    /// the sums of `slope` and of `constant`.
    pub struct DeepLines<'a, Q> as "deep_lines" {
        /// All terms.
        terms: plain &'a [DeepTerm],
        /// All batches, which take the terms one after the other.
        batches: plain &'a [DeepBatch],
        /// `[points][2]`: x and y.
        points: read QM31,
        /// The sampled values.
        sampled: read QM31,
        /// The powers of the challenge.
        powers: read QM31,
        /// One for each term.
        factors: write QM31,
        /// `[batches][2]`: slope and constant.
        lines: write QM31,
    }
}

impl<Q: Queue> DeepLines<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`DeepOps`](super::DeepOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let (points, sampled, powers) = (self.points.len(), self.sampled.len(), self.powers.len());
        let refused = |why| Err(BackendError::Unsupported { op: Self::NAME, why });
        if self.terms.iter().any(|term| term.value as usize >= sampled || term.power as usize >= powers) {
            return refused("a term refers to a value or power out of range");
        }
        let mut next = 0;
        for batch in self.batches {
            if batch.first as usize != next || batch.count == 0 {
                return refused("batches must be non-empty, consecutive and cover every term");
            }
            next = next.saturating_add(batch.count as usize);
            if batch.point as usize >= points / 2 {
                return refused("a batch refers to a point out of range");
            }
        }
        if next != self.terms.len() {
            return refused("batches must be non-empty, consecutive and cover every term");
        }
        self.expect([points, sampled, powers, next, self.batches.len().saturating_mul(2)])
    }
}
