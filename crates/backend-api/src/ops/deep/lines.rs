//! The lines through claimed values.

use core_types::{
    field::QM31,
    params::deep::{DeepBatch, DeepTerm},
};

use crate::{BufferRef, ops::op};

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
        factors: write QM31 [terms],
        /// Slope and constant of each batch.
        lines: write QM31 [batches, 2],
    }
    sizes(self) {
        let (terms, batches) = (self.terms.len(), self.batches.len());
        let (points, sampled, powers) = (self.points.len() / 2, self.sampled.len(), self.powers.len());
    }
    valid(self) {
        self.terms.iter().all(|term| (term.value as usize) < sampled && (term.power as usize) < powers),
            "a term refers to a value or power out of range";
        cover(self.batches, terms), "batches must be non-empty, consecutive and cover every term";
        self.batches.iter().all(|batch| (batch.point as usize) < points), "a batch refers to a point out of range";
    }
}

/// Whether the batches take all terms, one after the other, and each at least one.
fn cover(batches: &[DeepBatch], terms: usize) -> bool {
    let end = batches.iter().try_fold(0, |next: usize, batch| {
        let follows = batch.first as usize == next && batch.count > 0;
        follows.then(|| next.saturating_add(batch.count as usize))
    });
    end == Some(terms)
}
