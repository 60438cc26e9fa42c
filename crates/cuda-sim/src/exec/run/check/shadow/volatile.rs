//! Volatile accesses among the lanes of one warp.
//!
//! They are strong, so they are no data race. Without a warp barrier their order is undefined, and
//! code that relies on lanes running in lockstep goes wrong.
//!
//! A flag is not reported: a lane that reads it over and over and makes a fence once it is set. A
//! lane that has read what another lane wrote, and goes on without a fence, is reported, and so is
//! a write to what another lane has read and is done with.

use super::history::{Present, ShadowCell, SpilledCells};
use super::mark::Race;
use crate::exec::fault::{Access, Space};
use crate::exec::lanes::{FULL, LaneBits, WARP, lanes_where};
use crate::exec::run::seen::Seen;

/// Where a lane is with its volatile reads.
#[derive(Clone, Copy)]
struct Polling {
    /// The place that it read last.
    polled: (Space, u64),
    /// Whether it has touched no other memory since.
    polls: bool,
    /// The unordered write that it has read from without a fence since, and the step of the read.
    owes: Option<(Race, u32)>,
}

/// The volatile reads of a block.
#[derive(Default)]
pub(in crate::exec::run) struct Volatile(Vec<[Polling; WARP]>);

/// A volatile read of what another lane wrote, after which its lane went on.
pub(in crate::exec::run::check) struct Relied {
    pub(in crate::exec::run::check) race: Race,
    pub(in crate::exec::run::check) pc: u32,
    pub(in crate::exec::run::check) place: (Space, u64),
}

impl Volatile {
    /// For a block of `warps` warps; for none if its kernel has no volatile access.
    pub(in crate::exec::run) fn new(warps: usize) -> Self {
        Self(vec![[Polling { polled: (Space::Global, 0), polls: false, owes: None }; WARP]; warps])
    }

    /// Lanes make a fence or meet others.
    pub(in crate::exec::run) fn fence(&mut self, warp: usize, mask: u32) {
        if let Some(lanes) = self.0.get_mut(warp) {
            LaneBits(mask).for_each(|lane| lanes[lane].owes = None);
        }
    }

    /// An access begins. The volatile read that it relies on, if there is one.
    pub(in crate::exec::run::check) fn begin(&mut self, warp: usize, seen: &Seen<'_>) -> Option<Relied> {
        let lanes = self.0.get_mut(warp).filter(|_| matches!(seen.space, Space::Global | Space::Shared))?;
        let polls = seen.access == Access::Volatile && !seen.writes;
        for lane in LaneBits(seen.active) {
            let (state, place) = (&mut lanes[lane], (seen.space, seen.addresses[lane]));
            let again = polls && state.polled == place;
            if let Some((race, pc)) = state.owes.take().filter(|_| !again) {
                return Some(Relied { race, pc, place: state.polled });
            }
            state.polls = false;
        }
        None
    }

    /// Compares a lane's volatile access to a place with accesses of other lanes of its warp.
    pub(super) fn meet(
        &mut self,
        present: &Present<'_>,
        (cell, rest): (&ShadowCell, &SpilledCells),
        lane: usize,
        seen: &Seen<'_>,
    ) -> Option<Race> {
        let place = (seen.space, seen.addresses[lane]);
        let lanes = self.0.get_mut(present.mark.warps.trailing_zeros() as usize)?;
        if seen.writes {
            let excused = lanes_where(FULL, |lane| lanes[lane].polls && lanes[lane].polled == place);
            return present.volatile(cell, rest, lane, true, excused);
        }
        let race = present.volatile(cell, rest, lane, false, 0);
        let owes = race.map(|race| (race, present.mark.pc)).or(lanes[lane].owes);
        lanes[lane] = Polling { polled: place, polls: true, owes };
        None
    }
}
