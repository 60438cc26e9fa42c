//! Totals of a layer of gates, kept within their limits.

use crate::{
    batch::limits::{LayerLimits, grow},
    error::{BatchError, Class, Limit},
};

/// Totals of a network layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LayerTotals {
    /// Phases.
    pub phases: u64,
    /// Gates on batches.
    pub jobs: u64,
    /// Masked inputs.
    pub words: u64,
    /// Flushes of class coeff and of class trunc.
    pub flushes: [u64; 2],
    /// Elements of gates.
    pub elements: u64,
    /// Elements times the widths of their rings.
    pub element_bits: u64,
}

/// The openings and classes of gates that a barrier drains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BarrierPolicy {
    /// Openings.
    pub open: bool,
    /// Gates of class coeff.
    pub coeff: bool,
    /// Gates of class trunc.
    pub trunc: bool,
}

impl BarrierPolicy {
    /// Everything.
    pub const ALL: Self = Self { open: true, coeff: true, trunc: true };

    pub(super) const fn has(self, class: Class) -> bool {
        match class {
            Class::Coeff => self.coeff,
            Class::Trunc => self.trunc,
        }
    }
}

/// Adds up the phases of a layer, and keeps them within its limits.
pub(super) struct LayerPlanner {
    limits: LayerLimits,
    totals: LayerTotals,
}

impl LayerPlanner {
    /// An empty layer.
    pub(super) fn new(limits: LayerLimits) -> Self {
        Self { limits, totals: LayerTotals::default() }
    }

    /// Totals so far.
    pub(super) fn totals(&self) -> LayerTotals {
        self.totals
    }

    /// Adds a gate on `elements` inputs of `bits` bits, or nothing if a limit refuses it.
    pub(super) fn add(&mut self, elements: u64, bits: u32) -> Result<(), BatchError> {
        let (limits, totals) = (&self.limits, &self.totals);
        let width = elements.saturating_mul(bits.into());
        self.totals = LayerTotals {
            jobs: grow(Limit::LayerJobs, limits.jobs, totals.jobs, 1)?,
            words: grow(Limit::LayerWords, limits.words, totals.words, elements)?,
            elements: grow(Limit::LayerElements, limits.elements, totals.elements, elements)?,
            element_bits: grow(Limit::LayerElementBits, limits.element_bits, totals.element_bits, width)?,
            ..*totals
        };
        Ok(())
    }

    /// Begins a phase.
    pub(super) fn start_phase(&mut self) -> Result<(), BatchError> {
        self.totals.phases = grow(Limit::LayerPhases, self.limits.phases, self.totals.phases, 1)?;
        Ok(())
    }

    /// Counts the flush of a class.
    pub(super) fn flush(&mut self, class: Class) -> Result<(), BatchError> {
        let used = &mut self.totals.flushes[class.index()];
        *used = grow(Limit::LayerFlushes, self.limits.flushes, *used, 1)?;
        Ok(())
    }

    /// Ends the layer and begins an empty one.
    pub(super) fn finish(&mut self) -> LayerTotals {
        core::mem::take(&mut self.totals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_of_a_layer_fails_by_its_name() {
        let base = LayerLimits::default();
        let table = [
            (LayerLimits { jobs: 1, ..base }, Limit::LayerJobs, 1, 2),
            (LayerLimits { words: 19, ..base }, Limit::LayerWords, 19, 20),
            (LayerLimits { elements: 19, ..base }, Limit::LayerElements, 19, 20),
            (LayerLimits { element_bits: 159, ..base }, Limit::LayerElementBits, 159, 160),
        ];
        for (limits, limit, max, got) in table {
            let mut layer = LayerPlanner::new(limits);
            layer.add(10, 8).unwrap();
            let before = layer.totals();
            assert_eq!(layer.add(10, 8), Err(BatchError::Limit { limit, max, got }));
            assert_eq!(layer.totals(), before);
        }
        let mut layer = LayerPlanner::new(LayerLimits { phases: 2, flushes: 1, ..base });
        layer.start_phase().unwrap();
        layer.flush(Class::Coeff).unwrap();
        layer.start_phase().unwrap();
        layer.flush(Class::Trunc).unwrap();
        let refused = |limit| Err(BatchError::Limit { limit, max: 1, got: 2 });
        assert_eq!(layer.flush(Class::Coeff), refused(Limit::LayerFlushes));
        assert_eq!(layer.start_phase(), Err(BatchError::Limit { limit: Limit::LayerPhases, max: 2, got: 3 }));
        assert_eq!(layer.finish(), LayerTotals { phases: 2, flushes: [1, 1], ..LayerTotals::default() });
        assert_eq!(layer.totals(), LayerTotals::default());
    }
}
