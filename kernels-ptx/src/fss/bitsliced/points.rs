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

impl Points {
    /// Reads the points of the keys of `pair`, of `bits` bits; those of keys that do not exist are 0.
    ///
    /// # Safety
    /// `points` are those of all keys.
    #[inline(always)]
    pub(super) unsafe fn read(points: *const u64, pair: Pair, bits: u32) -> Self {
        let owner = owner_at(idx::lane());
        let read = |half: u32| {
            let y = if pair.has(half, owner) { *points.add(pair.key(half, owner) as usize) } else { 0 };
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
