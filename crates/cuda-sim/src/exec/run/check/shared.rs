//! Races on shared memory: two accesses of different threads to one place, one of them a write, without a barrier
//! between them.

use super::super::super::fault::Access;
use super::super::super::lanes::{Bits, WARP};
use super::super::Outcome;
use super::super::block::Turn;
use super::super::warp::Warp;
use super::clocks::When;
use super::{Earlier, Seen, Who};

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
    /// Which warp-wide access it was part of.
    serial: u64,
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
    granule: u64,
    cells: Vec<Cell>,
    serial: u64,
}

impl SharedShadow {
    pub(in crate::exec::run) fn new(bytes: u64, granule: u64) -> Self {
        Self { granule, cells: vec![Cell::default(); bytes.div_ceil(granule) as usize], serial: 0 }
    }
}

/// Whether two kinds of access conflict without an order.
fn conflict(earlier: Access, earlier_writes: bool, later: Access, later_writes: bool) -> bool {
    (earlier_writes || later_writes) && !(earlier == Access::Atomic && later == Access::Atomic)
}

/// Compares an access with what is remembered, and remembers it.
pub(super) fn check(turn: &mut Turn<'_, '_>, warp: &mut Warp, seen: &Seen<'_>) -> Outcome {
    let index = warp.index as usize;
    let values = std::mem::take(&mut turn.values);
    let watch = turn.watch();
    let Some(shadow) = &mut watch.shared else { return Ok(()) };
    let clocks = &watch.clocks;
    shadow.serial += 1;
    let (granule, serial) = (shadow.granule, shadow.serial);
    let mut found = None;
    'lanes: for lane in Bits(seen.active) {
        let start = seen.addresses[lane];
        let when = clocks.now(index, lane);
        let mark = Mark { warp: warp.index as u16, lanes: 1 << lane, when, pc: warp.pc, access: seen.access, serial };
        let unordered = |mark: &Mark| {
            Bits(mark.lanes).find(|&other| !clocks.ordered((mark.warp.into(), other), mark.when, (index, lane)))
        };
        // Lanes of one store that write the same value to the same place do no harm.
        let value = |lane: usize| values.get((seen.active & ((1 << lane) - 1)).count_ones() as usize);
        let same = |mark: &Mark| {
            let other = mark.lanes.trailing_zeros() as usize;
            mark.serial == serial && seen.addresses[other] == start && value(other) == value(lane)
        };
        for place in start / granule..=(start + seen.bytes - 1) / granule {
            let cell = &mut shadow.cells[place as usize];
            let before_write = cell.write.iter().filter(|mark| !same(mark));
            let before_write = before_write.map(|mark| (mark, true));
            let reads = cell.read.iter().chain(&cell.more_reads).map(|mark| (mark, false));
            let mut earlier = before_write.chain(reads);
            let race = earlier.find_map(|(mark, writes)| {
                let other = conflict(mark.access, writes, seen.access, seen.writes).then(|| unordered(mark))??;
                Some((*mark, other))
            });
            if let Some((mark, other)) = race {
                found = Some((lane, place * granule, mark, other));
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
    turn.values = values;
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
    if let Some(old) = cell.read.iter_mut().chain(&mut cell.more_reads).find(covered) {
        let lanes = if old.when == mark.when { old.lanes | mark.lanes } else { mark.lanes };
        *old = Mark { lanes, ..mark };
    } else if cell.read.is_none() {
        cell.read = Some(mark);
    } else {
        if cell.more_reads.len() == READS {
            cell.more_reads.remove(0);
        }
        cell.more_reads.push(mark);
    }
}
