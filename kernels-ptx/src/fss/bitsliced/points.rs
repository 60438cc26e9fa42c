//! The bits of public points as planes.

use core_types::bitsliced::owner_at;

use super::{HALVES, cipher::Plane, pairs::Pair, seat::Seat};
use crate::dev::{
    idx,
    warp::{FULL, ballot},
};

/// The points of a warp's keys, which give their bits from the highest down.
#[derive(Clone, Copy)]
pub(super) struct Points {
    /// Those of the keys of both groups whose bit in planes is the lane's, shifted so that the next bit is the top.
    left: [u64; HALVES as usize],
}

/// Where the words lie of which point `point` of each of `count` keys is made, and what is taken from them: rows of points,
/// or masked inputs less an offset where there are `offsets`.
///
/// # Safety
/// There are as many offsets as points, or the pointer is null.
#[inline(always)]
pub(super) unsafe fn at(point: u64, points: *const u64, offsets: *const u64, count: u64) -> (*const u64, u64) {
    if offsets.is_null() {
        (points.add((point * count) as usize), 0)
    } else {
        (points, *offsets.add(point as usize))
    }
}

impl Points {
    /// Reads the points of the keys of `pair`, of `bits` bits, and takes `less` from each; those of keys that do not exist
    /// are 0.
    ///
    /// # Safety
    /// `points` are those of all keys.
    #[inline(always)]
    pub(super) unsafe fn read(points: *const u64, less: u64, pair: Pair, bits: u32) -> Self {
        let owner = owner_at(idx::lane());
        let read = |half: u32| {
            let y = if pair.has(half, owner) { (*points.add(pair.key(half, owner) as usize)).wrapping_sub(less) } else { 0 };
            y << (64 - bits)
        };
        Self { left: [read(0), read(1)] }
    }

    /// The next bit.
    #[inline(always)]
    pub(super) fn next(&mut self, seat: Seat) -> Plane {
        let [a, b] = self.left;
        self.left = [a << 1, b << 1];
        seat.of_half([ballot(FULL, a >> 63 == 1), ballot(FULL, b >> 63 == 1)])
    }
}
