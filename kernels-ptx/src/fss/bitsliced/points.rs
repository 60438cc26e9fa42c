//! The bits of public points as planes.

use super::{HALVES, cipher::Plane, seat::Seat};

/// The points of a warp's keys, which give their bits from the highest down.
#[derive(Clone, Copy)]
pub(super) struct Points {
    /// The points of the keys of both groups whose bit in planes is the lane's.
    ///
    /// They are shifted so that the next bit is the top.
    left: [u64; HALVES as usize],
}

impl Points {
    /// The bits of points of `bits` bits below the highest `skipped`.
    ///
    /// `[a, b]` are the points of the lane's key in each group.
    #[inline(always)]
    pub(super) fn below([a, b]: [u64; HALVES as usize], bits: u32, skipped: u32) -> Self {
        let shift = 64 - bits + skipped;
        Self { left: [a << shift, b << shift] }
    }

    /// The next bit.
    #[inline(always)]
    pub(super) fn next(&mut self, seat: Seat) -> Plane {
        let [a, b] = self.left;
        self.left = [a << 1, b << 1];
        seat.voted([a >> 63 == 1, b >> 63 == 1])
    }
}
