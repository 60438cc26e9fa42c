//! Exact shifts: a comparison key of the dropped bits, and one for the wrap or the sign.

use core_types::Ring;

use crate::{
    Task,
    gate::shape::{Bounds, GateShape, HeaderParameters},
    tree::KeyTree,
};

/// First row of the words section after `[-(r >> f)]` and the mask `[c]` of the carry.
///
/// It is the mask `[c']` of the second bit. For the signed shift, `[g]` and `[g c']` follow, with
/// `g = msb(r)`.
pub(crate) const C_SECOND_ROW: u32 = 3;
pub(crate) const G_ROW: u32 = 4;
pub(crate) const G_C_ROW: u32 = 5;

/// `floor(x / 2^shift)` for unsigned `x`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Lrs {
    pub(crate) shift: u32,
}

impl Lrs {
    pub(crate) const BOUNDS: Bounds = Bounds::of_shift(1);

    pub(crate) fn of(parameters: HeaderParameters) -> Option<Self> {
        Some(Self { shift: parameters.f })
    }
}

impl GateShape for Lrs {
    fn trees(&self, ring: Ring) -> Vec<KeyTree> {
        vec![KeyTree::Cmp { bits: self.shift }, KeyTree::Cmp { bits: ring.bits() }]
    }

    fn word_rows(&self) -> u64 {
        3
    }

    fn bit_rows(&self) -> u64 {
        2
    }

    fn plain(&self, _: Ring, _: &Task<'_>, x: u64) -> Vec<u64> {
        vec![x >> self.shift]
    }
}

/// `floor(x / 2^shift)` for signed `x`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Ars {
    pub(crate) shift: u32,
}

impl Ars {
    pub(crate) const BOUNDS: Bounds = Bounds::of_shift(1);

    pub(crate) fn of(parameters: HeaderParameters) -> Option<Self> {
        Some(Self { shift: parameters.f })
    }
}

impl GateShape for Ars {
    fn trees(&self, ring: Ring) -> Vec<KeyTree> {
        vec![KeyTree::Cmp { bits: self.shift }, KeyTree::Cmp { bits: ring.bits() - 1 }]
    }

    fn word_rows(&self) -> u64 {
        5
    }

    fn bit_rows(&self) -> u64 {
        2
    }

    fn plain(&self, ring: Ring, _: &Task<'_>, x: u64) -> Vec<u64> {
        vec![ring.reduce((ring.signed(x) >> self.shift).cast_unsigned())]
    }
}

/// `floor(max(x, 0) / 2^shift)` for signed `x`.
///
/// The words section has, after the input mask, `[c]`, `[c']`, `[r >> f]`, `[g]`, and the products
/// of `c'` with the first, third and fourth of these.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ReluArs {
    pub(crate) shift: u32,
}

impl ReluArs {
    pub(crate) const BOUNDS: Bounds = Bounds::of_shift(1);

    pub(crate) fn of(parameters: HeaderParameters) -> Option<Self> {
        Some(Self { shift: parameters.f })
    }
}

impl GateShape for ReluArs {
    fn trees(&self, ring: Ring) -> Vec<KeyTree> {
        vec![KeyTree::Cmp { bits: self.shift }, KeyTree::Cmp { bits: ring.bits() - 1 }]
    }

    fn word_rows(&self) -> u64 {
        7
    }

    fn bit_rows(&self) -> u64 {
        2
    }

    fn plain(&self, ring: Ring, _: &Task<'_>, x: u64) -> Vec<u64> {
        vec![ring.signed(x).max(0).cast_unsigned() >> self.shift]
    }
}
