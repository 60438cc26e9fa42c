//! Races on global memory between blocks: happens-before by vector clocks.
//!
//! A fence and then an atomic release what the block did before the fence; an atomic and then a fence acquire what was
//! released at that place. Threads of a block are not told apart. Accesses that nothing orders must not meet at a
//! place, unless both are atomic or both read. This is what finds a "last block" reduction without fences.

use std::collections::HashMap;

use super::super::super::fault::Access;
use super::super::super::lanes::{Bits, WARP};
use super::super::Outcome;
use super::super::block::Turn;
use super::super::warp::Warp;
use super::{Earlier, Granule, Seen, Who};

/// Granules of one page of the shadow.
const PAGE: u64 = 256;
/// Reads remembered per place. More readers of one place than that go unnoticed by a later write.
const READS: usize = 2;

/// For each block, up to which of its clocks everything is ordered before someone.
type Known = HashMap<u64, u32>;

fn join(into: &mut Known, from: &Known) {
    for (&block, &clock) in from {
        let known = into.entry(block).or_default();
        *known = (*known).max(clock);
    }
}

/// The clock of a block and what it has synchronised with.
#[derive(Default)]
pub(in crate::exec::run) struct BlockClock {
    pub(in crate::exec::run) block: u64,
    now: u32,
    known: Known,
    /// What an atomic of this block releases: all before its last fence.
    released: Option<Known>,
    /// What its atomics have read, not yet followed by a fence.
    acquiring: Known,
}

impl BlockClock {
    pub(in crate::exec::run) fn new(block: u64) -> Self {
        Self { block, now: 1, ..Self::default() }
    }

    /// A fence that other blocks can rely on.
    pub(in crate::exec::run) fn fence(&mut self) {
        let acquired = std::mem::take(&mut self.acquiring);
        join(&mut self.known, &acquired);
        let mut released = self.known.clone();
        released.insert(self.block, self.now);
        self.released = Some(released);
        self.now += 1;
    }
}

/// A remembered access.
#[derive(Clone, Copy)]
struct Mark {
    /// Number of the block; grids of more blocks than fit are not run under this checker in any sensible time.
    block: u32,
    clock: u32,
    pc: u32,
    /// Number of the thread in its block, below 1024.
    thread: u16,
    access: Access,
}

#[derive(Clone, Default)]
struct Cell {
    write: Option<Mark>,
    reads: [Option<Mark>; READS],
}

/// What is remembered of global memory during a launch.
pub(in crate::exec::run) struct GlobalShadow {
    granule: Granule,
    /// Index of each page in `cells`.
    pages: HashMap<u64, usize>,
    cells: Vec<Box<[Cell]>>,
    /// The page that was used last, and its index.
    hot: (u64, usize),
    /// What was released at each place that atomics went to.
    places: HashMap<u64, Known>,
}

impl GlobalShadow {
    pub(in crate::exec::run) fn new(granule: u64) -> Self {
        let granule = Granule::new(granule);
        Self { granule, pages: HashMap::new(), cells: Vec::new(), hot: (u64::MAX, 0), places: HashMap::new() }
    }

    /// What is remembered of granule `place`.
    fn cell(&mut self, place: u64) -> &mut Cell {
        let page = place / PAGE;
        if self.hot.0 != page {
            let fresh = self.cells.len();
            let index = *self.pages.entry(page).or_insert(fresh);
            if index == fresh {
                self.cells.push(vec![Cell::default(); PAGE as usize].into());
            }
            self.hot = (page, index);
        }
        &mut self.cells[self.hot.1][(place % PAGE) as usize]
    }
}

/// Compares an access with what is remembered, and remembers it.
pub(super) fn check(turn: &mut Turn<'_, '_>, warp: &mut Warp, seen: &Seen<'_>) -> Outcome {
    let Some(mut shadow) = turn.shadow.take() else { return Ok(()) };
    let clock = &mut turn.watch().global;
    if seen.order.release {
        clock.fence();
    }
    let mut race = None;
    for lane in Bits(seen.active) {
        let address = seen.addresses[lane];
        if seen.access == Access::Atomic {
            synchronise(&mut shadow, clock, address, seen);
        }
        let thread = (warp.index as usize * WARP + lane) as u16;
        let mark = Mark { block: clock.block as u32, clock: clock.now, pc: warp.pc, thread, access: seen.access };
        let granule = shadow.granule;
        for place in granule.places(address, seen.bytes) {
            if let Some(earlier) = meet(shadow.cell(place), clock, mark, seen.writes) {
                race = race.or(Some((lane, granule.address(place), earlier)));
            }
        }
    }
    if seen.order.acquire {
        clock.fence();
    }
    turn.shadow = Some(shadow);
    match race {
        None => Ok(()),
        Some((lane, address, Mark { block, pc, thread, access, .. })) => {
            let (block, who) = (u64::from(block), Who { thread: thread.into(), pc });
            Err(turn.race(lane, seen, address, Earlier { block: Some(block), who, access }))
        }
    }
}

/// An atomic takes what was released at its place, and releases there what its block has fenced.
fn synchronise(shadow: &mut GlobalShadow, clock: &mut BlockClock, address: u64, seen: &Seen<'_>) {
    if seen.reads
        && let Some(released) = shadow.places.get(&address)
    {
        join(&mut clock.acquiring, released);
    }
    if seen.writes
        && let Some(released) = &clock.released
    {
        join(shadow.places.entry(address).or_default(), released);
    }
}

/// The earlier access that `mark` races with, if any; the cell remembers `mark`.
fn meet(cell: &mut Cell, clock: &BlockClock, mark: Mark, writes: bool) -> Option<Mark> {
    let ordered = |old: &Mark| {
        old.block == mark.block || clock.known.get(&old.block.into()).is_some_and(|&known| known >= old.clock)
    };
    let harmless = |old: &Mark| ordered(old) || old.access == Access::Atomic && mark.access == Access::Atomic;
    let after_write = cell.write.filter(|old| !harmless(old));
    if writes {
        let after_read = cell.reads.iter().flatten().find(|old| !harmless(old)).copied();
        cell.write = Some(mark);
        cell.reads = [None; READS];
        return after_write.or(after_read);
    }
    let slot = cell.reads.iter().position(|old| old.as_ref().is_none_or(ordered));
    if let Some(slot) = slot {
        cell.reads[slot] = Some(mark);
    }
    after_write
}
