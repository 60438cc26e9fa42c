//! Truncation: a comparison key of the bits that are dropped.

use core_types::Ring;

use crate::{
    Task,
    gate::shape::{Bounds, GateShape, HeaderParameters},
    tree::KeyTree,
};

/// First row of the words section after the input mask: `[-(r >> f)]`.
///
/// `[c]` follows, and for the signed shift `[2^(n-f) msb(r)]`.
pub(crate) const BASE_ROW: u32 = 1;
pub(crate) const C_ROW: u32 = 2;
pub(crate) const WRAP_ROW: u32 = 3;

/// `floor(x / 2^shift)` in the ring of the bits that are left.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TruncateReduce {
    pub(crate) shift: u32,
}

impl TruncateReduce {
    pub(crate) const BOUNDS: Bounds = Bounds::of_shift(1);

    pub(crate) fn of(parameters: HeaderParameters) -> Option<Self> {
        Some(Self { shift: parameters.f })
    }
}

impl GateShape for TruncateReduce {
    fn parameters(&self) -> HeaderParameters {
        HeaderParameters { f: self.shift, ..HeaderParameters::default() }
    }

    fn out_ring(&self, ring: Ring) -> Ring {
        Ring::new(ring.bits() - self.shift).unwrap_or(ring) // 1 <= shift < n
    }

    fn trees(&self, _: Ring) -> Vec<KeyTree> {
        vec![KeyTree::Cmp { bits: self.shift }]
    }

    fn word_rows(&self) -> u64 {
        2
    }

    fn bit_rows(&self) -> u64 {
        1
    }

    fn plain(&self, ring: Ring, _: &Task<'_>, x: u64) -> Vec<u64> {
        vec![self.out_ring(ring).reduce(x >> self.shift)]
    }
}

/// Signed `floor(x / 2^shift)` of an `x` whose magnitude is at most a quarter of the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct GapArs {
    pub(crate) shift: u32,
}

impl GapArs {
    pub(crate) const BOUNDS: Bounds = Bounds::of_shift(2);

    pub(crate) fn of(parameters: HeaderParameters) -> Option<Self> {
        Some(Self { shift: parameters.f })
    }
}

impl GateShape for GapArs {
    fn parameters(&self) -> HeaderParameters {
        HeaderParameters { f: self.shift, ..HeaderParameters::default() }
    }

    fn trees(&self, _: Ring) -> Vec<KeyTree> {
        vec![KeyTree::Cmp { bits: self.shift }]
    }

    fn word_rows(&self) -> u64 {
        3
    }

    fn bit_rows(&self) -> u64 {
        1
    }

    fn plain(&self, ring: Ring, _: &Task<'_>, x: u64) -> Vec<u64> {
        vec![ring.reduce((ring.signed(x) >> self.shift).cast_unsigned())]
    }
}
