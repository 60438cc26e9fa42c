//! Shows the accesses of a turn to the checkers, one after the other.

use super::check::shadow::mark::{AccessMark, Race};
use super::check::watch::Conflict;
use super::check::{initial, traffic};
use super::seen::{AccessedMemory, Seen};
use super::trouble::{StepResult, Trouble};
use super::turn::WarpTurn;
use super::warp::{Warp, thread_at};
use crate::exec::fault::{Access, FaultKind, Party, Space};
use crate::exec::lanes::{LaneBits, WARP};

impl WarpTurn<'_, '_> {
    /// Shows an access to the checkers.
    pub(super) fn observe(&mut self, warp: &mut Warp, seen: Seen<'_>) -> StepResult {
        self.observe_unordered(warp, &seen)?;
        self.order(warp, &seen)
    }

    /// Shows an access to the checkers, but for races.
    #[inline]
    pub(super) fn observe_unordered(&mut self, warp: &mut Warp, seen: &Seen<'_>) -> StepResult {
        let checks = self.job.options.checks;
        let range = seen.range();
        if checks.traffic {
            traffic::count(self.traffic, self.job.line(warp.pc), seen, range.as_ref());
        }
        if seen.space == Space::Shared {
            self.watch().finished(seen)?;
        }
        if checks.uninitialised {
            let job = self.job;
            initial::check(job, self.watch().written.as_mut(), warp, seen, range.as_ref())?;
        }
        if checks.streams && seen.space == Space::Global {
            match range {
                Some(range) => self.touched.note(seen.access, seen.writes, range),
                None => LaneBits(seen.active).for_each(|lane| {
                    let start = seen.addresses[lane];
                    self.touched.note(seen.access, seen.writes, start..start + seen.bytes);
                }),
            }
        }
        Ok(())
    }

    /// Holds an access to shared or global memory against those before it.
    #[inline]
    pub(super) fn order(&mut self, warp: &mut Warp, seen: &Seen<'_>) -> StepResult {
        let checks = self.job.options.checks;
        if !(checks.shared_races && seen.space == Space::Shared || checks.global_races && seen.space == Space::Global) {
            return Ok(());
        }
        let mut shadow = self.shadow.take();
        let conflict = self.watch().order(shadow.as_mut(), warp, seen);
        self.shadow = shadow;
        self.refuse(conflict)
    }

    /// As [`WarpTurn::order`], for a plain read of shared memory by words.
    ///
    /// Each word comes with the lanes that read it.
    pub(super) fn order_words(
        &mut self,
        warp: &mut Warp,
        seen: &Seen<'_>,
        words: impl Iterator<Item = (u64, u32)>,
    ) -> StepResult {
        let conflict = self.watch().order_words(warp, seen, words);
        self.refuse(conflict)
    }

    /// Observes asynchronous copies to shared memory that have begun.
    ///
    /// This counts as a separate access, and the bytes are out of bounds to all until they land.
    pub(super) fn observe_begun(&mut self, warp: &mut Warp, seen: Seen<'_>) -> StepResult {
        self.watch().finished(&seen)?;
        self.order(warp, &seen)?;
        self.watch().begin(&seen);
        Ok(())
    }

    /// An asynchronous copy of `lane` has landed.
    pub(super) fn observe_landed(&mut self, warp: &mut Warp, lane: usize, address: u64, bytes: u64) -> StepResult {
        self.watch().land(address as usize..(address + bytes) as usize);
        let mut addresses = [0; WARP];
        addresses[lane] = address;
        let memory = AccessedMemory::Window;
        let seen = Seen::plain(Space::Shared, Access::AsyncWrite, 1 << lane, &addresses, bytes, &memory);
        self.order(warp, &seen)
    }

    /// A race is a fault of the running step.
    fn refuse(&self, conflict: Option<Conflict>) -> StepResult {
        let Some(Conflict { space, address, access, race }) = conflict else { return Ok(()) };
        let Race { earlier: AccessMark { block, pc, access: earlier_access, .. }, other, lane } = race;
        let thread = thread_at((other.0 * WARP + other.1) as u32, self.job.grid.block);
        let earlier = Box::new(Party { block: self.job.block_at(block.into()), thread, ..Party::default() });
        let kind = FaultKind::Race { space, address, access, earlier_access, earlier };
        Err(Box::new(Trouble { kind, lane, earlier: Some(pc) }))
    }
}
