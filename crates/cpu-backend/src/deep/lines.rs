//! The lines through claimed values.
//!
//! For the value `v` at `z` with power `w` of the challenge: `slope = conj(v) - v`,
//! `factor = conj(z.y) - z.y`, `constant = v factor - slope z.y`, all times `w`. Slopes and
//! constants of a batch are added up (stwo 2.3, `core/pcs/quotients.rs`).

use core_types::{
    field::QM31,
    params::deep::{DeepBatch, DeepTerm},
};

/// The inputs of the lines.
pub(super) struct Claims<'a> {
    pub(super) terms: &'a [DeepTerm],
    pub(super) batches: &'a [DeepBatch],
    pub(super) points: &'a [QM31],
    pub(super) sampled: &'a [QM31],
    pub(super) powers: &'a [QM31],
}

impl Claims<'_> {
    /// Writes the factor of each term, and slope and constant of each batch.
    pub(super) fn write(&self, factors: &mut [QM31], lines: &mut [QM31]) {
        for (batch, line) in self.batches.iter().zip(lines.as_chunks_mut::<2>().0) {
            let y = self.points[2 * batch.point as usize + 1];
            let distance = y.conjugate() - y;
            let range = batch.first as usize..(batch.first + batch.count) as usize;
            let (mut slope_sum, mut constant_sum) = (QM31::ZERO, QM31::ZERO);
            for (term, factor) in self.terms[range.clone()].iter().zip(&mut factors[range]) {
                let (value, power) = (self.sampled[term.value as usize], self.powers[term.power as usize]);
                let slope = value.conjugate() - value;
                slope_sum += slope * power;
                constant_sum += (value * distance - slope * y) * power;
                *factor = distance * power;
            }
            *line = [slope_sum, constant_sum];
        }
    }
}
