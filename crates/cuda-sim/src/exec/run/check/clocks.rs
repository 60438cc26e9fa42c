//! Who of a block has synchronised with whom: vector clocks of warps, and of lanes within a warp.

use super::super::super::lanes::{Bits, WARP};

/// When something happened: the clock of its warp and of its lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::exec::run) struct When {
    pub(super) warp: u32,
    pub(super) lane: u32,
}

struct WarpClock {
    now: u32,
    /// For each warp, up to which of its clocks everything is ordered before this warp.
    known: Vec<u32>,
    /// Clock of each lane.
    lanes: [u32; WARP],
    /// `lane_known[a][b]`: up to which of lane b's clocks everything is ordered before lane a.
    lane_known: Box<[[u32; WARP]; WARP]>,
}

/// The clocks of a block.
pub(in crate::exec::run) struct Clocks {
    warps: Vec<WarpClock>,
    /// What the warps that have arrived at each named barrier knew.
    barriers: Vec<Vec<u32>>,
}

fn join(into: &mut [u32], from: &[u32]) {
    into.iter_mut().zip(from).for_each(|(into, from)| *into = (*into).max(*from));
}

impl Clocks {
    pub(in crate::exec::run) fn new(warps: usize) -> Self {
        let warp =
            |_| WarpClock { now: 1, known: vec![0; warps], lanes: [1; WARP], lane_known: Box::new([[0; WARP]; WARP]) };
        let barriers = vec![vec![0; warps]; super::super::barrier::BARRIERS];
        Self { warps: (0..warps).map(warp).collect(), barriers }
    }

    /// What warp `warp` knows at present.
    pub(super) fn view(&self, warp: usize) -> View<'_> {
        View { warp, clock: &self.warps[warp] }
    }

    /// Lanes of a warp meet.
    pub(in crate::exec::run) fn meet(&mut self, warp: usize, mask: u32) {
        let warp = &mut self.warps[warp];
        let mut all = [0; WARP];
        let mut latest = 0;
        for lane in Bits(mask) {
            join(&mut all, &warp.lane_known[lane]);
            all[lane] = all[lane].max(warp.lanes[lane]);
            latest = latest.max(warp.lanes[lane]);
        }
        for lane in Bits(mask) {
            warp.lane_known[lane] = all;
            warp.lanes[lane] = latest + 1;
        }
    }

    /// Lanes of a warp arrive at a block barrier: what they did so far is published there.
    pub(in crate::exec::run) fn arrive(&mut self, warp: usize, barrier: usize, mask: u32) {
        self.meet(warp, mask);
        let clock = &mut self.warps[warp];
        clock.known[warp] = clock.now;
        clock.now += 1;
        join(&mut self.barriers[barrier], &clock.known);
    }

    /// Warps leave a complete barrier with all that was published there.
    pub(in crate::exec::run) fn leave(&mut self, barrier: usize, warps: impl Iterator<Item = usize>) {
        for warp in warps {
            join(&mut self.warps[warp].known, &self.barriers[barrier]);
        }
        self.barriers[barrier].fill(0);
    }
}

/// What a warp and its lanes know at present.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    warp: usize,
    clock: &'a WarpClock,
}

impl View<'_> {
    /// The present of a lane.
    #[inline(always)]
    pub(super) fn now(&self, lane: usize) -> When {
        When { warp: self.clock.now, lane: self.clock.lanes[lane] }
    }

    /// Whether what lane `(warp, lane)` did at `when` is ordered before the present of `by_lane` of this warp.
    #[inline(always)]
    pub(super) fn ordered(&self, (warp, lane): (usize, usize), when: When, by_lane: usize) -> bool {
        if warp != self.warp {
            return self.clock.known[warp] >= when.warp;
        }
        lane == by_lane || self.clock.lane_known[by_lane][lane] >= when.lane
    }
}
