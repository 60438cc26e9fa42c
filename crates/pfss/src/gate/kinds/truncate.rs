//! Truncation: a comparison key of the bits that are dropped.

use core_types::Ring;

use crate::{
    Task,
    gate::shape::{Bounds, GateShape, HeaderParameters},
    tree::KeyTree,
};

/// First row of the words section after the input mask: `[-(r >> f)]`.
///
/// `[c]` follows if the carry is opened, and for the signed shift `[2^(n-f) msb(r)]`, all in the
/// ring of the output.
pub(crate) const BASE_ROW: u32 = 1;
pub(crate) const C_ROW: u32 = 2;

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
///
/// All rows of words but the input mask are in the ring of the result, which may be wider.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct GapArs {
    pub(crate) shift: u32,
    /// The ring of the result, if it is wider than the ring of the input.
    pub(crate) out: Option<Ring>,
    /// Whether the key has a payload, so that the carry comes additively shared from it.
    ///
    /// Nothing is then opened after the masked input.
    pub(crate) one_round: bool,
}

impl GapArs {
    /// The degree is 1 for a shift in one round, and else 0.
    pub(crate) const BOUNDS: Bounds = Bounds { widens: true, degree: 1, ..Bounds::of_shift(2) };

    pub(crate) fn of(parameters: HeaderParameters) -> Option<Self> {
        Some(Self { shift: parameters.f, out: Ring::new(parameters.out), one_round: parameters.degree == 1 })
    }

    /// The row of `[2^(n-f) msb(r)]`.
    pub(crate) const fn wrap_row(&self) -> u32 {
        if self.one_round { C_ROW } else { C_ROW + 1 }
    }
}

impl GateShape for GapArs {
    fn out_ring(&self, ring: Ring) -> Ring {
        self.out.unwrap_or(ring)
    }

    fn trees(&self, _: Ring) -> Vec<KeyTree> {
        let bits = self.shift;
        vec![if self.one_round { KeyTree::Dcf { bits, words: 1 } } else { KeyTree::Cmp { bits } }]
    }

    fn word_rows(&self) -> u64 {
        self.wrap_row().into()
    }

    fn word_ring(&self, ring: Ring, row: usize) -> Ring {
        if row > 0 { self.out_ring(ring) } else { ring }
    }

    fn bit_rows(&self) -> u64 {
        u64::from(!self.one_round)
    }

    fn plain(&self, ring: Ring, _: &Task<'_>, x: u64) -> Vec<u64> {
        vec![self.out_ring(ring).reduce((ring.signed(x) >> self.shift).cast_unsigned())]
    }
}
