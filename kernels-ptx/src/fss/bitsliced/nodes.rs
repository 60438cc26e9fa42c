//! The nodes of a group's keys at one level, as `core_types::tree::Node` has one.

use core_types::bitsliced::{Places, xor};

use super::{
    cipher::{Plane, Planes},
    seat::Seat,
};

/// Seeds in this lane's place, and control bits, which every place has.
#[derive(Clone, Copy)]
pub(super) struct Nodes {
    seeds: Planes,
    control: Plane,
}

impl Nodes {
    /// The roots of `party`, by their labels, whose two lowest bits are ignored.
    #[inline(always)]
    pub(super) fn roots(seat: Seat, labels: Planes, party: u32) -> Self {
        Self { seeds: seeds(seat, labels), control: Plane::spread(party) }
    }

    /// These nodes, and `other` where `which` is set.
    #[inline(always)]
    pub(super) fn or(self, other: Self, which: Plane) -> Self {
        let ([a0, a1, a2, a3, a4, a5, a6, a7], [b0, b1, b2, b3, b4, b5, b6, b7]) = (self.seeds, other.seeds);
        let seeds = [
            a0.or(b0, which),
            a1.or(b1, which),
            a2.or(b2, which),
            a3.or(b3, which),
            a4.or(b4, which),
            a5.or(b5, which),
            a6.or(b6, which),
            a7.or(b7, which),
        ];
        Self { seeds, control: self.control.or(other.control, which) }
    }

    /// The control bits.
    #[inline(always)]
    pub(super) fn control(self) -> Plane {
        self.control
    }

    /// The hash inputs with the lowest bits `bit0` and `bit1`.
    ///
    /// These are a direction and 0, or 0 and 1 to convert last nodes.
    #[inline(always)]
    pub(super) fn input(self, seat: Seat, bit0: Plane, bit1: Plane) -> Planes {
        let [s0, s1, s2, s3, s4, s5, s6, s7] = self.seeds;
        // the seeds' own are zero
        [s0 ^ (seat.head & bit0), s1 ^ (seat.head & bit1), s2, s3, s4, s5, s6, s7]
    }

    /// The children in the directions `c`.
    ///
    /// They follow from the hashes of their inputs and the correction words.
    #[inline(always)]
    pub(super) fn corrected(self, seat: Seat, hashed: Planes, c: Plane, correction: Planes) -> Self {
        let [w0, w1, w2, w3, w4, w5, w6, w7] = correction;
        // bit 0 corrects the control bits of left children, bit 1 corrects right children
        let w0 = w0.or(w1, seat.head & c);
        Self::packed(seat, self.leaf_block(hashed, [w0, w1, w2, w3, w4, w5, w6, w7]))
    }

    /// The shares of blocks of leaves, given the hashes of their inputs and the leaf corrections.
    #[inline(always)]
    pub(super) fn leaf_block(self, hashed: Planes, leaf: Planes) -> Planes {
        let [w0, w1, w2, w3, w4, w5, w6, w7] = leaf;
        let t = self.control;
        xor(hashed, [t & w0, t & w1, t & w2, t & w3, t & w4, t & w5, t & w6, t & w7])
    }

    /// Goes down to [`leaf_block`](Self::leaf_block)s, which take the place of the seeds.
    #[inline(always)]
    pub(super) fn land(self, hashed: Planes, leaf: Planes) -> Self {
        Self { seeds: self.leaf_block(hashed, leaf), ..self }
    }

    /// The blocks that were landed on.
    #[inline(always)]
    pub(super) fn landed(self) -> Planes {
        self.seeds
    }

    /// The nodes whose seeds are `labels` with the two lowest bits cleared.
    ///
    /// The control bits are the lowest bits of the labels.
    #[inline(always)]
    pub(super) fn packed(seat: Seat, labels: Planes) -> Self {
        Self { seeds: seeds(seat, labels), control: labels[0].moved(|_| 0) }
    }

    /// The labels that [`packed`](Self::packed) turns into these nodes.
    #[inline(always)]
    pub(super) fn labels(self, seat: Seat) -> Planes {
        self.input(seat, self.control, Plane::ZEROS)
    }
}

/// `labels` with the two lowest bits cleared.
#[inline(always)]
fn seeds(seat: Seat, labels: Planes) -> Planes {
    let [l0, l1, l2, l3, l4, l5, l6, l7] = labels;
    [l0 & !seat.head, l1 & !seat.head, l2, l3, l4, l5, l6, l7]
}
