//! What was done to one place in memory, and whether an access may follow it.
//!
//! Two accesses of different threads, one of them a write, must be ordered, or both be strong, each within the scope of
//! the other. A place keeps those earlier accesses that a later one may still have to be compared with: the last plain
//! write, the plain reads since, and strong accesses, all of them as long as nothing orders them before a later one of
//! their kind.

use std::collections::HashMap;

use super::super::super::fault::Access;
use super::super::super::lanes::Bits;
use super::clocks::WarpClock;
use super::past::{Past, Set};
use super::places::Released;

/// A remembered access of lanes of one warp, in one instruction or several.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    /// Number of the block; grids of more blocks than fit are not run under this checker in any sensible time.
    pub(super) block: u32,
    /// The clock of the warp; 0 if there is no access.
    pub(super) time: u32,
    pub(super) lanes: u32,
    pub(super) pc: u32,
    pub(super) warp: u8,
    pub(super) access: Access,
}

impl Mark {
    const NONE: Self = Self { block: 0, time: 0, lanes: 0, pc: 0, warp: 0, access: Access::Read };

    #[inline(always)]
    fn is_none(&self) -> bool {
        self.time == 0
    }

    fn is_strong(&self) -> bool {
        matches!(self.access, Access::Atomic | Access::BlockAtomic | Access::Volatile)
    }
}

/// What is remembered of a granule.
#[derive(Clone)]
pub(super) struct Cell {
    /// The last plain write; of several lanes if they wrote the same value in one instruction.
    write: Mark,
    /// The warp-wide access that it was part of.
    serial: u32,
    /// The latest plain read since.
    read: Mark,
    /// Index of the rest plus 1, or 0.
    more: u32,
}

impl Cell {
    pub(super) const NEW: Self = Self { write: Mark::NONE, serial: 0, read: Mark::NONE, more: 0 };
}

/// What most places have none of.
#[derive(Default)]
struct More {
    /// Plain reads of the block that read last, besides the latest one.
    reads: Vec<Mark>,
    /// Plain reads of blocks before that.
    past: Set,
    strong: Option<Box<Strong>>,
}

/// Strong accesses to a place.
#[derive(Default)]
struct Strong {
    /// By block.
    reads: HashMap<u32, Vec<Mark>>,
    /// Stores that others have replaced, by block.
    writes: HashMap<u32, Vec<Mark>>,
    /// The latest store, or the latest read-modify-write, which is ordered behind all that it has read from.
    latest: Option<Mark>,
    /// What has read from the latest write: who comes after one of these, comes after the write.
    observed: Vec<Mark>,
    /// Whether one of them was of block scope.
    narrow: bool,
    released: Released,
}

/// The rest of all cells.
#[derive(Default)]
pub(super) struct Rest {
    more: Vec<More>,
    past: Past,
}

impl Rest {
    fn of<'r>(&'r mut self, cell: &mut Cell) -> &'r mut More {
        if cell.more == 0 {
            self.more.push(More::default());
            cell.more = self.more.len() as u32;
        }
        &mut self.more[cell.more as usize - 1]
    }

    fn known(&self, cell: &Cell) -> Option<&More> {
        (cell.more as usize).checked_sub(1).map(|index| &self.more[index])
    }

    /// What strong writes have released at a place, for the one that is next.
    pub(super) fn released(&mut self, cell: &mut Cell) -> &mut Released {
        &mut self.of(cell).strong.get_or_insert_default().released
    }
}

/// Two accesses that conflict without an order between them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Race {
    pub(super) earlier: Mark,
    /// The lane of the earlier access.
    pub(super) other: usize,
    /// The lane of the later access.
    pub(super) lane: usize,
}

/// The access that is under way.
pub(super) struct Present<'a> {
    pub(super) clock: &'a WarpClock,
    /// What will be remembered of it, but for the lanes.
    pub(super) mark: Mark,
    /// Which warp-wide access it is part of, modulo 2^32.
    pub(super) serial: u32,
}

impl Present<'_> {
    /// A lane of `earlier`, and one of `lanes`, with no order between them.
    #[inline(always)]
    fn unordered(&self, earlier: &Mark, lanes: u32) -> Option<Race> {
        if earlier.block == self.mark.block {
            if self.clock.of_warp(earlier.warp.into()) >= earlier.time {
                return None;
            }
            if earlier.warp == self.mark.warp && earlier.lanes == lanes && lanes.is_power_of_two() {
                return None;
            }
        }
        self.unordered_lanes(earlier, lanes)
    }

    #[cold]
    fn unordered_lanes(&self, earlier: &Mark, lanes: u32) -> Option<Race> {
        let (own, warp) = (self.mark.block, usize::from(earlier.warp));
        let block = (earlier.block != own).then_some(earlier.block);
        let is_self = |lane: usize, other: usize| block.is_none() && earlier.warp == self.mark.warp && lane == other;
        let pairs = Bits(lanes).flat_map(|lane| Bits(earlier.lanes).map(move |other| (lane, other)));
        let found = pairs
            .filter(|&(lane, other)| !is_self(lane, other))
            .find(|&(lane, other)| !self.clock.knows(lane, block, own, (warp, other), earlier.time));
        found.map(|(lane, other)| Race { earlier: *earlier, other, lane })
    }

    /// Whether no scope keeps the present access and a strong one apart.
    fn in_scope(&self, earlier: &Mark) -> bool {
        let narrow = |mark: &Mark| mark.access == Access::BlockAtomic;
        earlier.block == self.mark.block || !narrow(earlier) && !narrow(&self.mark)
    }

    /// The race of `lanes` with the last plain write of a place. Lanes that wrote the same there themselves have none.
    #[inline(always)]
    fn after_write(&self, write: &Mark, lanes: u32) -> Option<Race> {
        if write.is_none() {
            return None;
        }
        let own = if write.block == self.mark.block && write.warp == self.mark.warp { write.lanes } else { 0 };
        if lanes & !own == 0 { None } else { self.unordered(write, lanes & !own) }
    }

    /// The race of a write with the plain reads of a place.
    fn after_reads(&self, cell: &Cell, rest: &Rest, lanes: u32) -> Option<Race> {
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
                let lane = Bits(lanes).find(|&lane| self.clock.latest_of(lane, read.block) < read.time)?;
                Some(Race { earlier: read, other: read.lanes.trailing_zeros() as usize, lane })
            })
        })
    }

    /// The race with the strong accesses of a place; those to strong ones are allowed within their scopes.
    fn after_strong(&self, cell: &Cell, rest: &Rest, lanes: u32, writes: bool) -> Option<Race> {
        let strong = rest.known(cell)?.strong.as_deref()?;
        let atomic = self.mark.is_strong();
        if atomic && !strong.narrow && self.mark.access != Access::BlockAtomic {
            return None;
        }
        let race = |earlier: &Mark| {
            if atomic && self.in_scope(earlier) { None } else { self.unordered(earlier, lanes) }
        };
        let unseen = |_: &&Mark| strong.observed.iter().all(|read| self.unordered(read, lanes).is_some());
        let after_latest = strong.latest.as_ref().filter(unseen).and_then(race);
        let after_write = after_latest.or_else(|| strong.writes.values().flatten().find_map(race));
        after_write.or_else(|| strong.reads.values().flatten().filter(|_| writes).find_map(race))
    }

    /// The race of a pair of lanes, whatever orders them.
    fn any(&self, earlier: &Mark, lanes: u32) -> Race {
        let (other, lane) = (earlier.lanes.trailing_zeros() as usize, lanes.trailing_zeros() as usize);
        Race { earlier: *earlier, other, lane }
    }

    /// A plain read by `lanes`.
    #[inline(always)]
    pub(super) fn read(&self, cell: &mut Cell, rest: &mut Rest, lanes: u32) -> Option<Race> {
        let race = self.after_write(&cell.write, lanes);
        if race.is_some() {
            return race;
        }
        let old = &mut cell.read;
        if cell.more == 0 && self.mark.access != Access::ConstantRead {
            let again = old.time == self.mark.time && old.block == self.mark.block && old.warp == self.mark.warp;
            if old.is_none() || again && old.access == self.mark.access {
                *old = Mark { lanes: old.lanes | lanes, ..self.mark };
                return None;
            }
        }
        self.read_slowly(cell, rest, lanes)
    }

    #[inline(never)]
    fn read_slowly(&self, cell: &mut Cell, rest: &mut Rest, lanes: u32) -> Option<Race> {
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
    fn remember_read(&self, cell: &mut Cell, rest: &mut Rest, lanes: u32) {
        let old = std::mem::replace(&mut cell.read, Mark { lanes, ..self.mark });
        if old.is_none() {
            return;
        }
        if old.block != self.mark.block {
            let clock = self.clock;
            let others = rest.known(cell).map_or(&[][..], |more| &more.reads[..]);
            let latest = others.iter().fold(old, |a, b| if b.time > a.time { *b } else { a });
            let known = Bits(lanes).any(|lane| {
                others.iter().chain([&old]).all(|read| {
                    Bits(read.lanes).all(|other| {
                        let place = (usize::from(read.warp), other);
                        clock.knows(lane, Some(read.block), self.mark.block, place, read.time)
                    })
                })
            });
            if cell.more == 0 && known {
                return;
            }
            let index = cell_index(rest, cell);
            let Rest { more, past } = rest;
            let more = &mut more[index];
            more.reads.clear();
            if !known {
                more.past = past.with(more.past, latest);
            }
            return;
        }
        let mut list = match rest.known(cell) {
            None => Vec::new(),
            Some(_) => std::mem::take(&mut rest.of(cell).reads),
        };
        list.push(old);
        cell.read.lanes |= self.thin(&mut list, lanes);
        if !list.is_empty() || cell.more != 0 {
            rest.of(cell).reads = list;
        }
    }

    /// Drops from a list what the present access of `lanes` makes superfluous. Returns the lanes of an entry that it is
    /// one with.
    fn thin(&self, list: &mut Vec<Mark>, lanes: u32) -> u32 {
        let mut same = 0;
        list.retain_mut(|old| {
            if old.warp == self.mark.warp && old.access == self.mark.access {
                if old.time == self.mark.time {
                    same |= old.lanes;
                    return false;
                }
                old.lanes &= !lanes;
            }
            old.lanes != 0 && self.unordered(old, lanes).is_some()
        });
        same
    }

    /// A plain write by one lane. `same` says whether another lane of this very instruction writes the same there.
    #[inline(always)]
    pub(super) fn write(
        &self,
        cell: &mut Cell,
        rest: &mut Rest,
        lane: usize,
        same: impl Fn(usize) -> bool,
    ) -> Option<Race> {
        let bit = 1 << lane;
        let old = &mut cell.write;
        if !old.is_none() && cell.serial == self.serial && old.block == self.mark.block && old.warp == self.mark.warp {
            let other = old.lanes.trailing_zeros() as usize;
            if old.lanes & bit == 0 && !same(other) {
                return Some(Race { earlier: *old, other, lane });
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
            }
        }
        if race.is_none() {
            (cell.write, cell.serial, cell.read) = (Mark { lanes: bit, ..self.mark }, self.serial, Mark::NONE);
        }
        race
    }

    /// A strong access by one lane.
    pub(super) fn strong(
        &self,
        cell: &mut Cell,
        rest: &mut Rest,
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
        let strong = rest.of(cell).strong.get_or_insert_default();
        strong.narrow |= self.mark.access == Access::BlockAtomic;
        let mark = Mark { lanes: bit, ..self.mark };
        if writes {
            let replaced = strong.latest.replace(mark).filter(|_| !reads);
            strong.observed.clear();
            if let Some(replaced) = replaced.filter(|old| self.unordered(old, bit).is_some()) {
                let list = strong.writes.entry(replaced.block).or_default();
                list.retain(|old| (old.warp, old.lanes) != (replaced.warp, replaced.lanes));
                list.push(replaced);
            }
            return None;
        }
        let own = |old: &&mut Mark| old.block == mark.block && old.warp == mark.warp;
        if !strong.observed.iter_mut().filter(own).any(|old| old.lanes & bit != 0) {
            match strong.observed.iter_mut().filter(own).find(|old| old.time == mark.time) {
                Some(old) => old.lanes |= bit,
                None => strong.observed.push(mark),
            }
        }
        let list = strong.reads.entry(mark.block).or_default();
        let lanes = bit | self.thin(list, bit);
        list.push(Mark { lanes, ..mark });
        None
    }

    /// A volatile access of another lane of this warp, but for those of `excused`, that nothing orders before one of
    /// `lane`: the latest write, or a read if this is a write.
    pub(super) fn volatile(&self, cell: &Cell, rest: &Rest, lane: usize, writes: bool, excused: u32) -> Option<Race> {
        let strong = rest.known(cell)?.strong.as_deref()?;
        let reads = strong.reads.get(&self.mark.block).filter(|_| writes);
        let others = reads.into_iter().flatten().chain(strong.latest.as_ref().filter(|_| !writes));
        let near = others
            .filter(|old| old.block == self.mark.block && old.warp == self.mark.warp && old.access == Access::Volatile);
        let mut unexcused = near.map(|old| Mark { lanes: old.lanes & !excused, ..*old });
        unexcused.find_map(|old| if old.lanes == 0 { None } else { self.unordered(&old, 1 << lane) })
    }
}

fn cell_index(rest: &mut Rest, cell: &mut Cell) -> usize {
    rest.of(cell);
    cell.more as usize - 1
}
