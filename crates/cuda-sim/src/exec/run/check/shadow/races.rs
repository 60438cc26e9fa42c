//! Races on shared and global memory.
//!
//! The accesses of a warp are compared with the history of their places.

use super::granule::Granule;
use super::history::{Present, ShadowCell, SpilledCells};
use super::mark::{AccessMark, Race};
use super::volatile::Volatile;
use crate::exec::fault::Access;
use crate::exec::lanes::{LaneBits, WARP};
use crate::exec::register::Slot;
use crate::exec::run::check::happens_before::clocks::BlockClocks;
use crate::exec::run::seen::Seen;
use crate::exec::run::warp::Warp;

/// The access history of a memory.
pub(in crate::exec::run::check) trait Shadow {
    fn granule(&self) -> Granule;

    /// The number of the next warp-wide access, modulo 2^32.
    fn serial(&mut self) -> u32;

    /// The history of granule `place`.
    fn cell(&mut self, place: u64) -> (&mut ShadowCell, &mut SpilledCells);
}

/// The race of an access, if there is one, and its address; the access is remembered.
pub(in crate::exec::run::check) fn check(
    shadow: &mut impl Shadow,
    clocks: &mut BlockClocks,
    volatile: &mut Volatile,
    warp: &Warp,
    seen: &Seen<'_>,
) -> Option<(Race, u64)> {
    let serial = shadow.serial();
    if seen.order.strong {
        return strong(shadow, clocks, volatile, warp, seen, serial);
    }
    let granule = shadow.granule();
    let present = present(clocks, warp, seen, serial);
    if seen.writes {
        for lane in LaneBits(seen.active) {
            for place in granule.places(seen.addresses[lane], seen.bytes) {
                let (cell, rest) = shadow.cell(place);
                let race = present.write(cell, rest, lane, |other| is_same(warp, seen, lane, other));
                if let Some(race) = race {
                    return Some((race, granule.address(place)));
                }
            }
        }
        return None;
    }
    let first = seen.addresses[seen.active.trailing_zeros() as usize % WARP];
    if LaneBits(seen.active).all(|lane| seen.addresses[lane] == first) {
        return granule.places(first, seen.bytes).find_map(|place| {
            let (cell, rest) = shadow.cell(place);
            present.read(cell, rest, seen.active).map(|race| (race, granule.address(place)))
        });
    }
    for lane in LaneBits(seen.active) {
        for place in granule.places(seen.addresses[lane], seen.bytes) {
            let (cell, rest) = shadow.cell(place);
            if let Some(race) = present.read(cell, rest, 1 << lane) {
                return Some((race, granule.address(place)));
            }
        }
    }
    None
}

/// The race of a plain read of words, each by its lanes, and its address.
///
/// `None` if there is no race. The read is recorded.
pub(in crate::exec::run::check) fn check_words(
    shadow: &mut impl Shadow,
    clocks: &BlockClocks,
    warp: &Warp,
    seen: &Seen<'_>,
    words: impl Iterator<Item = (u64, u32)>,
) -> Option<(Race, u64)> {
    let (serial, granule) = (shadow.serial(), shadow.granule());
    let present = present(clocks, warp, seen, serial);
    for (address, lanes) in words {
        for place in granule.places(address, 4) {
            let (cell, rest) = shadow.cell(place);
            if let Some(race) = present.read(cell, rest, lanes) {
                return Some((race, granule.address(place)));
            }
        }
    }
    None
}

fn present<'a>(clocks: &'a BlockClocks, warp: &Warp, seen: &Seen<'_>, serial: u32) -> Present<'a> {
    let clock = clocks.warp(warp.index as usize);
    let (block, time, warps, pc) = (clocks.block(), clock.now(), 1 << warp.index, warp.pc);
    Present { clock, mark: AccessMark { block, time, warps, lanes: 0, pc, access: seen.access }, serial }
}

/// Whether two lanes of one store write the same value to the same place, which does no harm.
fn is_same(warp: &Warp, seen: &Seen<'_>, lane: usize, other: usize) -> bool {
    let value = |slot: Slot, lane: usize| warp.regs.lane(slot, lane);
    seen.addresses[other] == seen.addresses[lane]
        && !seen.regs.is_empty()
        && seen.regs.iter().all(|&slot| value(slot, other) == value(slot, lane))
}

/// Strong accesses, lane after lane: they also synchronise.
#[inline(never)]
fn strong(
    shadow: &mut impl Shadow,
    clocks: &mut BlockClocks,
    volatile: &mut Volatile,
    warp: &Warp,
    seen: &Seen<'_>,
    serial: u32,
) -> Option<(Race, u64)> {
    let (index, granule, order) = (warp.index as usize, shadow.granule(), seen.order);
    for lane in LaneBits(seen.active) {
        let address = seen.addresses[lane];
        for place in granule.places(address, seen.bytes) {
            let (cell, rest) = shadow.cell(place);
            let present = present(clocks, warp, seen, serial);
            let mut race = None;
            if seen.access == Access::Volatile {
                race = volatile.meet(&present, (cell, rest), lane, seen);
            }
            race = race.or_else(|| present.strong(cell, rest, lane, (seen.reads, seen.writes)));
            if let Some(race) = race {
                return Some((race, granule.address(place)));
            }
        }
        let (cell, rest) = shadow.cell(granule.places(address, seen.bytes).start);
        let released = rest.released(cell);
        if seen.reads && !released.is_empty() {
            clocks.acquire((index, lane), warp.live, released, order.acquire.then_some(!order.narrow));
        }
        if seen.writes {
            if !seen.reads {
                released.overwrite((clocks.block(), (index * WARP + lane) as u16));
            }
            clocks.release((index, lane), released, order.release, !order.narrow);
        }
    }
    if order.release {
        clocks.advance(index);
    }
    None
}
