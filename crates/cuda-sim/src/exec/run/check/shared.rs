//! Races on shared memory: two accesses of different threads to one place, one of them a write, without a barrier
//! between them.

use super::super::super::code::Slot;
use super::super::super::fault::Access;
use super::super::super::lanes::{Bits, WARP};
use super::super::Outcome;
use super::super::block::Turn;
use super::super::warp::{Regs, Warp};
use super::clocks::{View, When};
use super::{Earlier, Granule, Seen, Who};

/// Most reads remembered per place, besides the first.
const READS: usize = 255;

/// A remembered access.
#[derive(Clone, Copy)]
struct Mark {
    warp: u16,
    /// The lanes of the warp that made it, in one instruction or several.
    lanes: u32,
    when: When,
    pc: u32,
    access: Access,
    /// Which warp-wide access of the block it was part of, modulo 2^32.
    serial: u32,
}

/// The last write of a place and the reads since.
#[derive(Clone, Default)]
struct Cell {
    write: Option<Mark>,
    /// The first of the reads, so that one reading warp costs no allocation.
    read: Option<Mark>,
    more_reads: Vec<Mark>,
}

/// What is remembered of a block's shared memory, per granule: the width of the kernel's narrowest store, at most a
/// word.
pub(in crate::exec::run) struct SharedShadow {
    granule: Granule,
    cells: Vec<Cell>,
    serial: u32,
}

impl SharedShadow {
    pub(in crate::exec::run) fn new(bytes: u64, granule: u64) -> Self {
        Self {
            granule: Granule::new(granule),
            cells: vec![Cell::default(); bytes.div_ceil(granule) as usize],
            serial: 0,
        }
    }
}

/// The lane that is at work, for comparisons with what is remembered.
struct Present<'a> {
    view: View<'a>,
    seen: &'a Seen<'a>,
    regs: &'a Regs,
    mark: Mark,
    lane: usize,
}

impl Present<'_> {
    /// A lane of an earlier access, a write or a read, that conflicts with this one and that nothing orders before it.
    #[inline]
    fn race(&self, earlier: &Mark, writes: bool) -> Option<(Mark, usize)> {
        let both_atomic = earlier.access == Access::Atomic && self.mark.access == Access::Atomic;
        if both_atomic || !(writes || self.seen.writes) || writes && self.is_same(earlier) {
            return None;
        }
        let unordered = |&other: &usize| !self.view.ordered((earlier.warp.into(), other), earlier.when, self.lane);
        Bits(earlier.lanes).find(unordered).map(|other| (*earlier, other))
    }

    /// Whether a write is of the same instruction, to the same place and of the same value: it does no harm.
    fn is_same(&self, earlier: &Mark) -> bool {
        let other = earlier.lanes.trailing_zeros() as usize % WARP;
        let value = |slot: Slot, lane: usize| self.regs.lane(slot, lane);
        earlier.serial == self.mark.serial
            && self.seen.addresses[other] == self.seen.addresses[self.lane]
            && self.seen.stored.iter().all(|&slot| value(slot, other) == value(slot, self.lane))
    }
}

/// Compares an access with what is remembered, and remembers it.
pub(super) fn check(turn: &mut Turn<'_, '_>, warp: &mut Warp, seen: &Seen<'_>) -> Outcome {
    let index = warp.index as usize;
    let watch = turn.watch();
    let Some(shadow) = &mut watch.shared else { return Ok(()) };
    let view = watch.clocks.view(index);
    shadow.serial = shadow.serial.wrapping_add(1);
    let (granule, serial) = (shadow.granule, shadow.serial);
    let mut found = None;
    'lanes: for lane in Bits(seen.active) {
        let start = seen.addresses[lane];
        let when = view.now(lane);
        let mark = Mark { warp: index as u16, lanes: 1 << lane, when, pc: warp.pc, access: seen.access, serial };
        let present = Present { view, seen, regs: &warp.regs, mark, lane };
        for place in granule.places(start, seen.bytes) {
            let cell = &mut shadow.cells[place as usize];
            let mut race = cell.write.as_ref().and_then(|earlier| present.race(earlier, true));
            if seen.writes && race.is_none() {
                let mut reads = cell.read.iter().chain(&cell.more_reads);
                race = reads.find_map(|earlier| present.race(earlier, false));
            }
            if let Some((mark, other)) = race {
                found = Some((lane, granule.address(place), mark, other));
                break 'lanes;
            }
            if seen.writes {
                cell.write = Some(mark);
                cell.read = None;
                cell.more_reads.clear();
            } else {
                remember(cell, mark);
            }
        }
    }
    let Some((lane, address, mark, other)) = found else { return Ok(()) };
    let who = Who { thread: u32::from(mark.warp) * WARP as u32 + other as u32, pc: mark.pc };
    Err(turn.race(lane, seen, address, Earlier { block: None, who, access: mark.access }))
}

/// Adds a read. One of the same warp before that warp's last barrier is covered by the new one.
fn remember(cell: &mut Cell, mark: Mark) {
    let covered = |old: &&mut Mark| {
        let like = old.warp == mark.warp && old.access == mark.access;
        like && (old.when.warp < mark.when.warp || old.when == mark.when)
    };
    let Some(first) = &mut cell.read else {
        cell.read = Some(mark);
        return;
    };
    if let Some(old) = std::iter::once(first).chain(&mut cell.more_reads).find(covered) {
        let lanes = if old.when == mark.when { old.lanes | mark.lanes } else { mark.lanes };
        *old = Mark { lanes, ..mark };
    } else {
        if cell.more_reads.len() == READS {
            cell.more_reads.remove(0);
        }
        cell.more_reads.push(mark);
    }
}
