//! Comparisons of a secret with public constants: a comparison key, and the masks of bits.

use core_types::Ring;

use crate::{
    Gate,
    gate::shape::{Bounds, BoundsOfF, GateShape, HeaderParameters},
    tree::KeyTree,
};

/// Comparisons of the whole of `x`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FullPredicates {
    pub(crate) masks: u32,
}

impl FullPredicates {
    pub(crate) const BOUNDS: Bounds = Bounds { masks: Gate::MAX_MASKS, ..Bounds::of_ring(1, 64) };

    pub(crate) fn of(parameters: HeaderParameters) -> Option<Self> {
        Some(Self { masks: parameters.masks })
    }
}

impl GateShape for FullPredicates {
    fn output_words(&self) -> usize {
        0
    }

    fn trees(&self, ring: Ring) -> Vec<KeyTree> {
        vec![KeyTree::Cmp { bits: ring.bits() }]
    }

    fn word_rows(&self) -> u64 {
        self.masks.into()
    }

    fn bit_rows(&self) -> u64 {
        self.masks.into()
    }
}

/// The sign of `x + c`. The first row of bits is the top bit of the mask.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SignPredicates {
    pub(crate) masks: u32,
}

impl SignPredicates {
    pub(crate) const BOUNDS: Bounds = Bounds { masks: Gate::MAX_MASKS, ..Bounds::of_ring(2, 64) };

    pub(crate) fn of(parameters: HeaderParameters) -> Option<Self> {
        Some(Self { masks: parameters.masks })
    }
}

impl GateShape for SignPredicates {
    fn output_words(&self) -> usize {
        0
    }

    fn trees(&self, ring: Ring) -> Vec<KeyTree> {
        vec![KeyTree::Cmp { bits: ring.bits() - 1 }]
    }

    fn word_rows(&self) -> u64 {
        self.masks.into()
    }

    fn bit_rows(&self) -> u64 {
        1 + u64::from(self.masks)
    }

    fn opened(&self) -> (u64, u64) {
        (self.masks.into(), 0)
    }
}

/// Comparisons of the low `bits` bits of `x`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LowPredicates {
    bits: u32,
    pub(crate) masks: u32,
}

impl LowPredicates {
    pub(crate) const BOUNDS: Bounds =
        Bounds { f: BoundsOfF::LowBits { left: 1 }, masks: Gate::MAX_MASKS, ..Bounds::of_ring(2, 64) };

    pub(crate) fn of(parameters: HeaderParameters) -> Option<Self> {
        Some(Self { bits: parameters.f, masks: parameters.masks })
    }
}

impl GateShape for LowPredicates {
    fn output_words(&self) -> usize {
        0
    }

    fn trees(&self, _: Ring) -> Vec<KeyTree> {
        vec![KeyTree::Cmp { bits: self.bits }]
    }

    fn word_rows(&self) -> u64 {
        self.masks.into()
    }

    fn bit_rows(&self) -> u64 {
        self.masks.into()
    }
}
