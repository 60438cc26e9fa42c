//! What was done to one place in memory, and whether an access may follow it.
//!
//! Two accesses of different threads, one of them a write, must be ordered, or both be strong, each
//! within the scope of the other. A place keeps those earlier accesses that a later one may still
//! have to be compared with: the last plain write, the plain reads since, and strong accesses, all
//! of them as long as nothing orders them before a later one of their kind.

use std::collections::HashMap;

use super::mark::{AccessMark, Race};
use super::past::{Past, Set};
use crate::exec::fault::Access;
use crate::exec::lanes::LaneBits;
use crate::exec::run::check::happens_before::clocks::WarpClock;
use crate::exec::run::check::happens_before::places::Released;

/// The access history of a granule.
#[derive(Clone)]
pub(in crate::exec::run::check) struct ShadowCell {
    /// The last plain write; of several lanes if they wrote the same value in one instruction.
    write: AccessMark,
    /// The warp-wide access that it was part of.
    serial: u32,
    /// The latest plain read since.
    read: AccessMark,
    /// Index of the rest plus 1, or 0.
    more: u32,
    /// Whether there may be strong accesses among the rest.
    strong: bool,
}

impl ShadowCell {
    pub(super) const NEW: Self =
        Self { write: AccessMark::NONE, serial: 0, read: AccessMark::NONE, more: 0, strong: false };
}

/// What most places have none of.
#[derive(Default)]
struct More {
    /// Plain reads of the block that read last, besides the latest one.
    reads: Vec<AccessMark>,
    /// Plain reads of blocks before that.
    past: Set,
    strong: Option<Box<Strong>>,
}

/// Strong accesses to a place.
#[derive(Default)]
struct Strong {
    /// By block.
    reads: HashMap<u32, Vec<AccessMark>>,
    /// Stores that others have replaced, by block.
    writes: HashMap<u32, Vec<AccessMark>>,
    /// The latest store, or the latest read-modify-write.
    ///
    /// It is ordered after every access that it has read from.
    latest: Option<AccessMark>,
    /// What has read from the latest write: who comes after one of these, comes after the write.
    observed: Vec<AccessMark>,
    /// Whether one of them was of block scope.
    narrow: bool,
    released: Released,
}

/// The rest of all cells.
#[derive(Default)]
pub(in crate::exec::run::check) struct SpilledCells {
    more: Vec<More>,
    past: Past,
}

impl SpilledCells {
    fn of<'r>(&'r mut self, cell: &mut ShadowCell) -> &'r mut More {
        if cell.more == 0 {
            self.more.push(More::default());
            cell.more = self.more.len() as u32;
        }
        &mut self.more[cell.more as usize - 1]
    }

    fn strong<'r>(&'r mut self, cell: &mut ShadowCell) -> &'r mut Strong {
        cell.strong = true;
        self.of(cell).strong.get_or_insert_default()
    }

    fn known(&self, cell: &ShadowCell) -> Option<&More> {
        (cell.more as usize).checked_sub(1).map(|index| &self.more[index])
    }

    /// What strong writes have released at a place, for the one that is next.
    pub(super) fn released(&mut self, cell: &mut ShadowCell) -> &mut Released {
        &mut self.strong(cell).released
    }
}

/// The current access.
pub(super) struct Present<'a> {
    pub(super) clock: &'a WarpClock,
    /// What will be remembered of it, but for the lanes.
    pub(super) mark: AccessMark,
    /// Which warp-wide access it is part of, modulo 2^32.
    pub(super) serial: u32,
}

impl Present<'_> {
    /// A thread of `earlier`, and one of `lanes`, with no order between them.
    #[inline(always)]
    fn unordered(&self, earlier: &AccessMark, lanes: u32) -> Option<Race> {
        if earlier.block == self.mark.block {
            if earlier.warps.is_power_of_two() {
                if self.clock.of_warp(earlier.warps.trailing_zeros() as usize) >= earlier.time {
                    return None;
                }
                if earlier.warps == self.mark.warps && earlier.lanes == lanes && lanes.is_power_of_two() {
                    return None;
                }
            } else if LaneBits(earlier.warps).all(|warp| self.clock.of_warp(warp) >= earlier.time) {
                return None;
            }
        }
        self.unordered_lanes(earlier, lanes)
    }

    #[inline(never)]
    fn unordered_lanes(&self, earlier: &AccessMark, lanes: u32) -> Option<Race> {
        let own = self.mark.block;
        let block = (earlier.block != own).then_some(earlier.block);
        let is_self = |lane: usize, (warp, other)| block.is_none() && 1_u32 << warp == self.mark.warps && lane == other;
        let others = LaneBits(earlier.warps).flat_map(|warp| LaneBits(earlier.lanes).map(move |lane| (warp, lane)));
        let pairs = LaneBits(lanes).flat_map(|lane| others.clone().map(move |other| (lane, other)));
        let found = pairs
            .filter(|&(lane, other)| !is_self(lane, other))
            .find(|&(lane, other)| !self.clock.knows(lane, block, own, other, earlier.time));
        found.map(|(lane, other)| Race { earlier: *earlier, other, lane })
    }

    /// Whether no scope keeps the present access and a strong one apart.
    fn in_scope(&self, earlier: &AccessMark) -> bool {
        let narrow = |mark: &AccessMark| mark.access == Access::BlockAtomic;
        earlier.block == self.mark.block || !narrow(earlier) && !narrow(&self.mark)
    }

    /// The race of `lanes` with the last plain write of a place.
    ///
    /// Lanes that wrote the same there themselves have none.
    #[inline(always)]
    fn after_write(&self, write: &AccessMark, lanes: u32) -> Option<Race> {
        if write.is_none() {
            return None;
        }
        let own = if write.block == self.mark.block && write.warps == self.mark.warps { write.lanes } else { 0 };
        if lanes & !own == 0 { None } else { self.unordered(write, lanes & !own) }
    }

    /// The race of a write with the plain reads of a place.
    fn after_reads(&self, cell: &ShadowCell, rest: &SpilledCells, lanes: u32) -> Option<Race> {
        if !cell.read.is_none() {
            let constant = cell.read.access == Access::ConstantRead;
            let race = if constant { Some(self.any(&cell.read, lanes)) } else { self.unordered(&cell.read, lanes) };
            if race.is_some() {
                return race;
            }
        }
        let more = rest.known(cell)?;
        more.reads.iter().find_map(|read| self.unordered(read, lanes)).or_else(|| {
            let mut past = rest.past.members(more.past).filter(|read| read.block != self.mark.block);
            past.find_map(|read| {
                let lane = LaneBits(lanes).find(|&lane| self.clock.latest_of(lane, read.block) < read.time)?;
                Some(Race { lane, ..self.any(&read, lanes) })
            })
        })
    }

    /// The race with the strong accesses of a place.
    ///
    /// Accesses to strong places are allowed within their scopes.
    fn after_strong(&self, cell: &ShadowCell, rest: &SpilledCells, lanes: u32, writes: bool) -> Option<Race> {
        let strong = if cell.strong { rest.known(cell)?.strong.as_deref()? } else { return None };
        let atomic = self.mark.is_strong();
        if atomic && !strong.narrow && self.mark.access != Access::BlockAtomic {
            return None;
        }
        let race = |earlier: &AccessMark| {
            if atomic && self.in_scope(earlier) { None } else { self.unordered(earlier, lanes) }
        };
        let unseen = |_: &&AccessMark| strong.observed.iter().all(|read| self.unordered(read, lanes).is_some());
        let after_latest = strong.latest.as_ref().filter(unseen).and_then(race);
        let after_write = after_latest.or_else(|| strong.writes.values().flatten().find_map(race));
        after_write.or_else(|| strong.reads.values().flatten().filter(|_| writes).find_map(race))
    }

    /// The race of a pair of lanes, whatever orders them.
    fn any(&self, earlier: &AccessMark, lanes: u32) -> Race {
        let first = |mask: u32| mask.trailing_zeros() as usize;
        Race { earlier: *earlier, other: (first(earlier.warps), first(earlier.lanes)), lane: first(lanes) }
    }

    /// A plain read by `lanes`.
    #[inline(always)]
    pub(super) fn read(&self, cell: &mut ShadowCell, rest: &mut SpilledCells, lanes: u32) -> Option<Race> {
        let race = self.after_write(&cell.write, lanes);
        if race.is_some() {
            return race;
        }
        if !cell.strong && self.mark.access != Access::ConstantRead {
            let mark = AccessMark { lanes, ..self.mark };
            if cell.read.is_none() {
                cell.read = mark;
                return None;
            }
            if cell.read.add(&mark) {
                return None;
            }
        }
        self.read_slowly(cell, rest, lanes)
    }

    #[inline(never)]
    fn read_slowly(&self, cell: &mut ShadowCell, rest: &mut SpilledCells, lanes: u32) -> Option<Race> {
        let race = self.after_strong(cell, rest, lanes, false);
        if race.is_some() {
            return race;
        }
        if self.mark.access == Access::ConstantRead {
            // Whatever was written before, in whatever order.
            let strong = rest.known(cell).and_then(|more| more.strong.as_ref());
            let atomic = strong.and_then(|strong| strong.latest);
            if let Some(write) = Some(cell.write).filter(|write| !write.is_none()).or(atomic) {
                return Some(self.any(&write, lanes));
            }
        }
        if cell.read.access == Access::ConstantRead && !cell.read.is_none() {
            return None;
        }
        self.remember_read(cell, rest, lanes);
        None
    }

    /// Adds a plain read. Those that are ordered before it need not be remembered.
    fn remember_read(&self, cell: &mut ShadowCell, rest: &mut SpilledCells, lanes: u32) {
        let mark = AccessMark { lanes, ..self.mark };
        if cell.read.is_none() {
            cell.read = mark;
            return;
        }
        if cell.read.block != self.mark.block {
            let old = std::mem::replace(&mut cell.read, mark);
            self.leave_behind(cell, rest, &old, lanes);
            return;
        }
        if cell.more != 0 && rest.of(cell).reads.iter_mut().any(|old| old.add(&mark)) {
            return;
        }
        let old = std::mem::replace(&mut cell.read, mark);
        if cell.more == 0 {
            let mut rest_of_it = vec![old];
            self.thin(&mut rest_of_it, &mark);
            if !rest_of_it.is_empty() {
                rest.of(cell).reads = rest_of_it;
            }
            return;
        }
        let reads = &mut rest.of(cell).reads;
        reads.push(old);
        self.thin(reads, &mark);
    }

    /// Moves the reads of another block, `old` and others, into the past.
    ///
    /// They stay if they are ordered before the present read.
    fn leave_behind(&self, cell: &mut ShadowCell, rest: &mut SpilledCells, old: &AccessMark, lanes: u32) {
        let others = rest.known(cell).map_or(&[][..], |more| &more.reads[..]);
        let all_known = others.iter().chain([old]).all(|read| self.unordered(read, lanes).is_none());
        if cell.more == 0 && all_known {
            return;
        }
        let latest = others.iter().fold(*old, |a, b| if b.time > a.time { *b } else { a });
        let index = cell_index(rest, cell);
        let SpilledCells { more, past } = rest;
        more[index].reads.clear();
        if !all_known {
            more[index].past = past.with(more[index].past, latest);
        }
    }

    /// Drops marks from a list that the present access makes superfluous.
    fn thin(&self, list: &mut Vec<AccessMark>, mark: &AccessMark) {
        list.retain_mut(|old| {
            old.remove(mark);
            !old.is_empty() && self.unordered(old, mark.lanes).is_some()
        });
    }

    /// A plain write by one lane.
    ///
    /// `same`: whether another lane of this very instruction writes the same there.
    #[inline(always)]
    pub(super) fn write(
        &self,
        cell: &mut ShadowCell,
        rest: &mut SpilledCells,
        lane: usize,
        same: impl Fn(usize) -> bool,
    ) -> Option<Race> {
        let bit = 1 << lane;
        let old = &mut cell.write;
        if !old.is_none() && cell.serial == self.serial && old.block == self.mark.block && old.warps == self.mark.warps
        {
            if old.lanes & bit == 0 && !same(old.lanes.trailing_zeros() as usize) {
                return Some(self.any(old, bit));
            }
            old.lanes |= bit;
            return None;
        }
        let mut race = if old.is_none() { None } else { self.unordered(old, bit) };
        if race.is_none() && (!cell.read.is_none() || cell.more != 0) {
            race = self.after_reads(cell, rest, bit).or_else(|| self.after_strong(cell, rest, bit, true));
            if race.is_none() && cell.more != 0 {
                // All of it is ordered before this write.
                *rest.of(cell) = More::default();
                cell.strong = false;
            }
        }
        if race.is_none() {
            (cell.write, cell.serial, cell.read) =
                (AccessMark { lanes: bit, ..self.mark }, self.serial, AccessMark::NONE);
        }
        race
    }

    /// A strong access by one lane.
    pub(super) fn strong(
        &self,
        cell: &mut ShadowCell,
        rest: &mut SpilledCells,
        lane: usize,
        (reads, writes): (bool, bool),
    ) -> Option<Race> {
        let bit = 1 << lane;
        let race = if writes {
            let after_write = if cell.write.is_none() { None } else { self.unordered(&cell.write, bit) };
            after_write.or_else(|| self.after_reads(cell, rest, bit))
        } else {
            self.after_write(&cell.write, bit)
        };
        let race = race.or_else(|| self.after_strong(cell, rest, bit, writes));
        if race.is_some() {
            return race;
        }
        let strong = rest.strong(cell);
        strong.narrow |= self.mark.access == Access::BlockAtomic;
        let mark = AccessMark { lanes: bit, ..self.mark };
        if writes {
            let replaced = strong.latest.replace(mark).filter(|_| !reads);
            strong.observed.clear();
            if let Some(replaced) = replaced.filter(|old| self.unordered(old, bit).is_some()) {
                let list = strong.writes.entry(replaced.block).or_default();
                list.retain(|old| (old.warps, old.lanes) != (replaced.warps, replaced.lanes));
                list.push(replaced);
            }
            return None;
        }
        let has = |old: &AccessMark| old.block == mark.block && old.warps & mark.warps != 0 && old.lanes & bit != 0;
        if !strong.observed.iter().any(has) && !strong.observed.iter_mut().any(|old| old.add(&mark)) {
            strong.observed.push(mark);
        }
        let list = strong.reads.entry(mark.block).or_default();
        if !list.iter_mut().any(|old| old.add(&mark)) {
            self.thin(list, &mark);
            list.push(mark);
        }
        None
    }

    /// A volatile access of another lane of this warp that is unordered with one of `lane`.
    ///
    /// It is the latest write, or a read if this is a write. Lanes in `excused` are ignored.
    pub(super) fn volatile(
        &self,
        cell: &ShadowCell,
        rest: &SpilledCells,
        lane: usize,
        writes: bool,
        excused: u32,
    ) -> Option<Race> {
        let strong = rest.known(cell)?.strong.as_deref()?;
        let reads = strong.reads.get(&self.mark.block).filter(|_| writes);
        let others = reads.into_iter().flatten().chain(strong.latest.as_ref().filter(|_| !writes));
        let near = others.filter(|old| {
            old.block == self.mark.block && old.warps & self.mark.warps != 0 && old.access == Access::Volatile
        });
        let mut unexcused = near.map(|old| AccessMark { warps: self.mark.warps, lanes: old.lanes & !excused, ..*old });
        unexcused.find_map(|old| if old.is_empty() { None } else { self.unordered(&old, 1 << lane) })
    }
}

fn cell_index(rest: &mut SpilledCells, cell: &mut ShadowCell) -> usize {
    rest.of(cell);
    cell.more as usize - 1
}
