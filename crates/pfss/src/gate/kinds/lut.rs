//! A public table at a secret position: a comparison key whose leaves are a unit vector.

use core_types::Ring;

use crate::{
    Gate, Task,
    gate::shape::{Bounds, BoundsOfF, GateShape, HeaderParameters},
    tree::{KeyTree, aes_of_all_points},
};

/// Rows of the words section after the input mask: `[e]`, `[ρ]`, `[ρ e]` with `e = 1 - 2c`.
pub(crate) const E_ROW: u32 = 1;
pub(crate) const RHO_ROW: u32 = 2;
pub(crate) const RHO_E_ROW: u32 = 3;

/// A table of words of `out` bits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Lut {
    out: u32,
}

impl Lut {
    pub(crate) const BOUNDS: Bounds = Bounds { f: BoundsOfF::Words, ..Bounds::of_ring(1, Gate::MAX_LUT_BITS) };

    pub(crate) fn of(parameters: HeaderParameters) -> Option<Self> {
        Some(Self { out: parameters.f })
    }
}

impl GateShape for Lut {
    fn out_ring(&self, ring: Ring) -> Ring {
        Ring::new(self.out).unwrap_or(ring) // checked with the parameters
    }

    fn trees(&self, ring: Ring) -> Vec<KeyTree> {
        vec![KeyTree::Cmp { bits: ring.bits() }]
    }

    fn word_rows(&self) -> u64 {
        3
    }

    fn word_ring(&self, ring: Ring, row: usize) -> Ring {
        if row > 0 { self.out_ring(ring) } else { ring }
    }

    fn bit_rows(&self) -> u64 {
        1
    }

    /// The sign and the masked word.
    fn opened(&self) -> (u64, u64) {
        (1, self.out.into())
    }

    fn aes(&self, ring: Ring) -> u64 {
        aes_of_all_points(ring.bits())
    }

    fn plain(&self, _: Ring, task: &Task<'_>, x: u64) -> Vec<u64> {
        match task {
            Task::Lut(table) => vec![table[x as usize]], // a word for every element of a ring of at most 13 bits
            _ => Vec::new(),
        }
    }
}
