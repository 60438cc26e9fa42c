//! Key generation by four lanes per key.
//!
//! Lane `2 p + c` expands the node of party `p` in direction `c`.

use crate::dev::{
    idx,
    warp::{FULL, shfl_xor},
};

/// Lanes of a quad.
pub(super) const QUAD: u32 = 4;

/// Keys that a block makes at a time: the multiple to which rows are padded.
pub(super) const KEYS: u32 = super::GROUP;

/// Threads of a block that makes keys.
pub(super) const THREADS: u32 = KEYS * QUAD;

/// One of the four lanes.
#[derive(Clone, Copy)]
pub(super) struct Lane {
    /// The key, counted from the block's first.
    pub(super) key: u32,
    /// The lane in its quad.
    pub(super) index: u32,
    /// The party whose node the lane holds.
    pub(super) party: u32,
    /// The direction in which the lane expands it.
    pub(super) direction: u32,
}

/// A value for each direction.
#[derive(Clone, Copy)]
pub(super) struct Sides<T> {
    pub(super) left: T,
    pub(super) right: T,
}

impl Lane {
    #[inline(always)]
    pub(super) fn this() -> Self {
        let thread = idx::tid_x();
        let index = thread % QUAD;
        Self { key: thread / QUAD, index, party: index >> 1, direction: index & 1 }
    }

    /// Sorts the values of this lane's party by direction.
    #[inline(always)]
    pub(super) fn sides<T: Exchange>(self, value: T) -> Sides<T> {
        let other = value.xor_lane(1); // of the lane of the other direction
        if self.direction == 0 { Sides { left: value, right: other } } else { Sides { left: other, right: value } }
    }
}

impl<T: Copy> Sides<T> {
    /// The value in direction `a`.
    #[inline(always)]
    pub(super) fn at(self, a: u32) -> T {
        if a & 1 == 0 { self.left } else { self.right }
    }
}

/// A value that the lanes of a quad exchange.
pub(super) trait Exchange: Copy {
    /// The value of the lane whose index differs in the bits `lanes`.
    fn xor_lane(self, lanes: u32) -> Self;

    /// The value of the same direction's lane of the other party.
    #[inline(always)]
    fn of_other_party(self) -> Self {
        self.xor_lane(2)
    }
}

impl Exchange for u64 {
    #[inline(always)]
    fn xor_lane(self, lanes: u32) -> Self {
        shfl_xor(FULL, self, lanes)
    }
}

impl Exchange for u128 {
    #[inline(always)]
    fn xor_lane(self, lanes: u32) -> Self {
        let (low, high) = (shfl_xor(FULL, self as u64, lanes), shfl_xor(FULL, (self >> 64) as u64, lanes));
        Self::from(high) << 64 | Self::from(low)
    }
}

impl<T: Exchange> Exchange for [T; 2] {
    #[inline(always)]
    fn xor_lane(self, lanes: u32) -> Self {
        self.map(|value| value.xor_lane(lanes))
    }
}
