//! `max(x, 0)` and `|x|`: a comparison key of the bits below the sign, and the sign's mask.

use core_types::Ring;

use crate::{
    Task,
    gate::shape::{Bounds, BoundsOfF, GateShape, HeaderParameters},
    tree::KeyTree,
};

/// Rows of the words section: the input mask `[r]`, the sign's mask `[c]`, and `[c r]`.
pub(crate) const R_ROW: u32 = 0;
pub(crate) const C_ROW: u32 = 1;
pub(crate) const PRODUCT_ROW: u32 = 2;

/// ReLU of an integer that this many low bits hold, or all bits of the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Relu {
    bits: Option<u32>,
}

impl Relu {
    pub(crate) const BOUNDS: Bounds = Bounds { f: BoundsOfF::Narrow, ..Bounds::of_ring(2, 64) };

    pub(crate) fn of(parameters: HeaderParameters) -> Option<Self> {
        Some(Self { bits: Some(parameters.f).filter(|&bits| bits > 0) })
    }

    /// The ring of the bits that hold the input, whose top bit is its sign.
    pub(crate) fn sign_ring(&self, ring: Ring) -> Ring {
        self.bits.and_then(Ring::new).unwrap_or(ring)
    }
}

impl GateShape for Relu {
    fn trees(&self, ring: Ring) -> Vec<KeyTree> {
        vec![KeyTree::Cmp { bits: self.sign_ring(ring).bits() - 1 }]
    }

    fn word_rows(&self) -> u64 {
        2
    }

    fn bit_rows(&self) -> u64 {
        1
    }

    fn plain(&self, ring: Ring, task: &Task<'_>, x: u64) -> Vec<u64> {
        let x = ring.signed(x);
        let y = if let Task::Abs = task { x.unsigned_abs() } else { x.max(0).cast_unsigned() };
        vec![ring.reduce(y)]
    }
}
