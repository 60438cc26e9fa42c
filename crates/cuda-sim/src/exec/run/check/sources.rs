//! Sources of asynchronous copies in flight.
//!
//! Nothing may be written there before the wait for them.

use std::ops::Range;

use super::shadow::mark::{AccessMark, Race};
use crate::exec::fault::Access;
use crate::exec::lanes::LaneBits;
use crate::exec::run::seen::Seen;

/// The source of a copy in flight.
pub(in crate::exec::run) struct InFlightSource {
    pub(in crate::exec::run) lane: usize,
    /// Number of the group within its lane.
    pub(in crate::exec::run) group: u32,
    pub(in crate::exec::run) range: Range<u64>,
    /// The step of the copy.
    pub(in crate::exec::run) pc: u32,
}

/// The sources of a block's copies, by warp.
pub(in crate::exec::run) struct Sources {
    warps: Vec<Vec<InFlightSource>>,
    /// The least start and the greatest end of all of them.
    bounds: (u64, u64),
}

const NO_BOUNDS: (u64, u64) = (u64::MAX, 0);

impl Sources {
    pub(in crate::exec::run) fn new(warps: usize) -> Self {
        Self { warps: (0..warps).map(|_| Vec::new()).collect(), bounds: NO_BOUNDS }
    }

    /// A copy has begun.
    pub(in crate::exec::run) fn add(&mut self, warp: u32, source: InFlightSource) {
        self.bounds = (self.bounds.0.min(source.range.start), self.bounds.1.max(source.range.end));
        self.warps[warp as usize].push(source);
    }

    /// Forgets the copies of a warp that have landed.
    pub(in crate::exec::run) fn land(&mut self, warp: u32, over: impl Fn(&InFlightSource) -> bool) {
        self.warps[warp as usize].retain(|source| !over(source));
        if self.warps.iter().all(Vec::is_empty) {
            self.bounds = NO_BOUNDS;
        }
    }

    /// The copy in flight of this block that a write to global memory comes too early for.
    ///
    /// Also returns the address.
    pub(super) fn overwritten(&self, block: u32, seen: &Seen<'_>) -> Option<(Race, u64)> {
        LaneBits(seen.active).find_map(|lane| {
            let (start, end) = (seen.addresses[lane], seen.addresses[lane] + seen.bytes);
            if start >= self.bounds.1 || self.bounds.0 >= end {
                return None;
            }
            let sources = self.warps.iter().zip(0..).flat_map(|(sources, warp)| sources.iter().map(move |s| (warp, s)));
            let mut hit = sources.filter(|(_, source)| start < source.range.end && source.range.start < end);
            let (warp, source) = hit.next()?;
            let &InFlightSource { lane: other, pc, ref range, .. } = source;
            let (warps, lanes) = (1 << warp, 1 << other);
            let earlier = AccessMark { block, time: 0, warps, lanes, pc, access: Access::AsyncRead };
            Some((Race { earlier, other: (warp, other), lane }, start.max(range.start)))
        })
    }
}
