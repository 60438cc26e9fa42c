//! Indicators of intervals times powers of the mask: a comparison key with a payload.

use core_types::Ring;

use crate::{
    Gate,
    gate::shape::{Bounds, GateShape, HeaderParameters},
    tree::KeyTree,
};

/// The row of the power `j >= 1` of `-r` in the words section; `[r]` for `j = 1`.
///
/// Descriptors have the same rows.
pub(crate) const fn mask_row(j: usize) -> u32 {
    if j <= 1 { 0 } else { j as u32 - 1 }
}

/// Powers of `-r` up to `degree`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct IntervalPowers {
    pub(crate) degree: u32,
}

impl IntervalPowers {
    pub(crate) const BOUNDS: Bounds = Bounds { degree: Gate::MAX_DEGREE, ..Bounds::of_ring(1, 64) };

    pub(crate) fn of(parameters: HeaderParameters) -> Option<Self> {
        Some(Self { degree: parameters.degree })
    }
}

impl GateShape for IntervalPowers {
    fn output_words(&self) -> usize {
        0
    }

    fn trees(&self, ring: Ring) -> Vec<KeyTree> {
        vec![KeyTree::Dcf { bits: ring.bits(), words: self.degree + 1 }]
    }

    /// `(-r)^0` is public and `(-r)^1` is the input mask.
    fn word_rows(&self) -> u64 {
        self.degree.saturating_sub(1).into()
    }

    fn bit_rows(&self) -> u64 {
        0
    }
}
