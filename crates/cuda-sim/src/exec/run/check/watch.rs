//! State of the checkers of one block.

use std::ops::Range;

use super::happens_before::clocks::BlockClocks;
use super::shadow::global::GlobalShadow;
use super::shadow::mark::Race;
use super::shadow::races;
use super::shadow::shared::SharedShadow;
use super::shadow::volatile::Volatile;
use super::sources::Sources;
use crate::exec::fault::{Access, FaultKind, Space};
use crate::exec::lanes::{LaneBits, WARP};
use crate::exec::run::job::LaunchJob;
use crate::exec::run::seen::Seen;
use crate::exec::run::trouble::{StepResult, trouble};
use crate::exec::run::warp::Warp;
use crate::exec::run::written::WrittenBytes;

/// The state of a block's checkers.
pub(in crate::exec::run) struct BlockWatch {
    pub(in crate::exec::run) clocks: BlockClocks,
    pub(in crate::exec::run) shared: Option<SharedShadow>,
    pub(in crate::exec::run) written: Option<WrittenBytes>,
    /// Bytes of shared memory that a `cp.async` in flight will write.
    pub(in crate::exec::run) unfinished: Vec<bool>,
    /// Copies in flight.
    pub(in crate::exec::run) under_way: usize,
    /// Their sources.
    pub(in crate::exec::run) sources: Sources,
    pub(in crate::exec::run) volatile: Volatile,
}

/// A race on `address` between an access of the running step and an earlier one.
pub(in crate::exec::run) struct Conflict {
    pub(in crate::exec::run) space: Space,
    pub(in crate::exec::run) address: u64,
    pub(in crate::exec::run) access: Access,
    pub(in crate::exec::run) race: Race,
}

impl BlockWatch {
    /// For block number `linear`, which is about to start.
    pub(in crate::exec::run) fn new(job: &LaunchJob<'_>, linear: u64) -> Self {
        let (bytes, checks) = (job.shared_span(), job.options.checks);
        let warps = job.grid.threads().div_ceil(WARP as u64) as usize;
        Self {
            clocks: BlockClocks::new(linear as u32, warps),
            shared: checks.shared_races.then(|| SharedShadow::new(bytes, job.code.shared_granule)),
            written: checks.uninitialised.then(|| WrittenBytes::new(bytes as usize)),
            unfinished: vec![false; bytes as usize],
            under_way: 0,
            sources: Sources::new(warps),
            volatile: Volatile::new(if job.code.volatile { warps } else { 0 }),
        }
    }
    /// Checks an access against those before it, and records it.
    ///
    /// `global` is the history of global memory.
    #[inline]
    pub(in crate::exec::run) fn order(
        &mut self,
        global: Option<&mut GlobalShadow>,
        warp: &mut Warp,
        seen: &Seen<'_>,
    ) -> Option<Conflict> {
        let Self { clocks, shared, sources, volatile, .. } = self;
        if let Some(relied) = volatile.begin(warp.index as usize, seen) {
            warp.pc = relied.pc;
            let (space, address) = relied.place;
            return Some(Conflict { space, address, access: Access::Volatile, race: relied.race });
        }
        let found = match (seen.space, shared, global) {
            (Space::Shared, Some(shadow), _) => races::check(shadow, clocks, volatile, warp, seen),
            (Space::Global, _, Some(shadow)) => {
                let source = if seen.writes { sources.overwritten(clocks.block(), seen) } else { None };
                source.or_else(|| races::check(shadow, clocks, volatile, warp, seen))
            }
            _ => None,
        };
        found.map(|(race, address)| Conflict { space: seen.space, address, access: seen.access, race })
    }

    /// As [`BlockWatch::order`], for a plain read of shared memory by words.
    ///
    /// Each word comes with the lanes that read it.
    #[inline]
    pub(in crate::exec::run) fn order_words(
        &mut self,
        warp: &Warp,
        seen: &Seen<'_>,
        words: impl Iterator<Item = (u64, u32)>,
    ) -> Option<Conflict> {
        let (race, address) = races::check_words(self.shared.as_mut()?, &self.clocks, warp, seen, words)?;
        Some(Conflict { space: seen.space, address, access: seen.access, race })
    }

    /// No access may touch bytes that an asynchronous copy has still to deliver.
    #[inline]
    pub(in crate::exec::run) fn finished(&self, seen: &Seen<'_>) -> StepResult {
        if self.under_way == 0 {
            return Ok(());
        }
        for lane in LaneBits(seen.active) {
            let start = seen.addresses[lane];
            if let Some(address) = (start..start + seen.bytes).find(|&at| self.unfinished[at as usize]) {
                return trouble(lane, FaultKind::Unfinished { access: seen.access, address });
            }
        }
        Ok(())
    }

    /// Marks bytes of asynchronous copies to shared memory that have begun.
    ///
    /// They are out of bounds to all until they land.
    pub(in crate::exec::run) fn begin(&mut self, seen: &Seen<'_>) {
        for lane in LaneBits(seen.active) {
            let start = seen.addresses[lane] as usize;
            self.unfinished[start..start + seen.bytes as usize].fill(true);
            self.under_way += 1;
        }
    }

    /// An asynchronous copy of these bytes of shared memory has landed.
    pub(in crate::exec::run) fn land(&mut self, bytes: Range<usize>) {
        self.unfinished[bytes.clone()].fill(false);
        self.under_way -= 1;
        if let Some(written) = &mut self.written {
            written.mark(bytes);
        }
    }
}
