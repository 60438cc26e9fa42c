//! The bits of public points as planes.

use super::{HALVES, cipher::Plane, pairs::Pair, seat::Seat};

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
    if offsets.is_null() { (points.add((point * count) as usize), 0) } else { (points, *offsets.add(point as usize)) }
}

impl Points {
    /// The bits of points of `bits` bits below the highest `skipped`, given those of the lane's key in each group.
    #[inline(always)]
    pub(super) fn below([a, b]: [u64; HALVES as usize], bits: u32, skipped: u32) -> Self {
        let shift = 64 - bits + skipped;
        Self { left: [a << shift, b << shift] }
    }

    /// Reads the points of the keys of `pair`, of `bits` bits, and takes `less` from each; those of keys that do not exist
    /// mean nothing.
    ///
    /// # Safety
    /// `points` are those of all keys.
    #[inline(always)]
    pub(super) unsafe fn read(points: *const u64, less: u64, pair: Pair, bits: u32) -> Self {
        let [a, b] = pair.words(points);
        Self::below([a.wrapping_sub(less), b.wrapping_sub(less)], bits, 0)
    }

    /// The next bit.
    #[inline(always)]
    pub(super) fn next(&mut self, seat: Seat) -> Plane {
        let [a, b] = self.left;
        self.left = [a << 1, b << 1];
        seat.voted([a >> 63 == 1, b >> 63 == 1])
    }
}
