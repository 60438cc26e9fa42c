//! State that a warp may touch in its turn.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::SeqCst;

use super::barrier::{BARRIERS, Barrier};
use super::check::happens_before::clocks::Strength;
use super::check::shadow::global::GlobalShadow;
use super::check::watch::BlockWatch;
use super::job::LaunchJob;
use super::warp::Warp;
use crate::exec::counters::Traffic;
use crate::exec::fault::Space;
use crate::exec::touched::Touched;

/// State shared by the warps of a block.
pub(super) struct Core {
    pub(super) index: [u32; 3],
    pub(super) shared: Vec<u8>,
    pub(super) live_threads: u32,
    pub(super) barriers: [Barrier; BARRIERS],
    /// Only where something is checked.
    pub(super) watch: Option<Box<BlockWatch>>,
}

/// State that a warp's turn may touch besides the warp.
pub(super) struct WarpTurn<'a, 'j> {
    pub(super) job: &'a LaunchJob<'j>,
    pub(super) core: &'a mut Core,
    /// Steps left.
    pub(super) fuel: u64,
    /// Lane instructions so far.
    pub(super) lanes: u64,
    /// Whether memory has changed or a thread has ended.
    pub(super) changed: bool,
    /// Access history of global memory, if races on it are checked.
    pub(super) shadow: Option<GlobalShadow>,
    pub(super) traffic: &'a mut BTreeMap<u32, Traffic>,
    pub(super) touched: &'a mut Touched,
    /// Steps of this host thread before the turn, plus the fuel it began with.
    pub(super) clock_base: u64,
}

impl WarpTurn<'_, '_> {
    /// Bytes of a window.
    #[inline]
    pub(super) fn window_size(&self, space: Space) -> u64 {
        match space {
            Space::Shared => self.core.shared.len() as u64,
            Space::Local => self.job.code.local,
            Space::Param => self.job.params.len() as u64,
            Space::Global => u64::MAX,
        }
    }

    /// A clock that counts steps.
    pub(super) fn clock(&self) -> u64 {
        self.clock_base - self.fuel
    }

    /// A memory fence of lanes.
    pub(super) fn fence(&mut self, warp: &Warp, mask: u32, strength: Strength) {
        std::sync::atomic::fence(SeqCst);
        if let Some(watch) = &mut self.core.watch {
            watch.clocks.fence(warp.index as usize, mask, warp.live, strength);
            watch.volatile.fence(warp.index as usize, mask);
        }
    }

    /// Lanes arrived at a block barrier.
    pub(super) fn arrived(&mut self, warp: &Warp, id: u8, mask: u32) {
        if let Some(watch) = &mut self.core.watch {
            watch.clocks.arrive(warp.index as usize, id.into(), mask, warp.live);
            watch.volatile.fence(warp.index as usize, mask);
        }
    }

    /// Lanes met at a warp barrier.
    pub(super) fn warp_barrier(&mut self, warp: &Warp, mask: u32) {
        if let Some(watch) = &mut self.core.watch {
            watch.clocks.meet(warp.index as usize, mask, warp.live);
            watch.volatile.fence(warp.index as usize, mask);
        }
    }

    /// The memory of this block's checkers, which every checked launch has.
    #[inline]
    pub(super) fn watch(&mut self) -> &mut BlockWatch {
        let job = self.job;
        self.core.watch.get_or_insert_with(|| Box::new(BlockWatch::new(job, 0)))
    }
}
