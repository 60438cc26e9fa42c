//! The checkers: what they are shown, and in which order they look.

mod clocks;
mod global;
mod history;
mod initial;
mod known;
mod past;
mod places;
mod races;
mod shared;
mod sources;
mod traffic;
mod volatile;

use std::ops::Range;

use super::super::code::{Order, Slot};
use super::super::fault::{Access, FaultKind, Party, Space};
use super::super::lanes::{Bits, FULL, WARP};
use super::access::Memory;
use super::block::Turn;
use super::warp::Warp;
use super::{Outcome, Trouble};
pub(super) use clocks::{Clocks, Strength};
pub(super) use global::GlobalShadow;
use history::{Mark, Race};
pub(super) use initial::{Byte, WrittenBytes};
pub(super) use shared::SharedShadow;
pub(super) use sources::{Source, Sources};
pub(super) use volatile::Volatile;

/// An access of a warp whose bounds and alignment are right, all in one space.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a> {
    pub(super) space: Space,
    pub(super) access: Access,
    pub(super) reads: bool,
    pub(super) writes: bool,
    pub(super) order: Order,
    pub(super) active: u32,
    pub(super) addresses: &'a [u64; WARP],
    /// Bytes at each address.
    pub(super) bytes: u64,
    pub(super) memory: &'a Memory<'a>,
    /// The registers that a load or store moves. Equal values at one place in one store are no race.
    pub(super) regs: &'a [Slot],
}

impl Seen<'_> {
    /// A load, a store or a read-modify-write with this order.
    pub(super) fn access(order: Order, writes: bool) -> Access {
        match (order.strong, writes) {
            (true, _) if order.volatile => Access::Volatile,
            (true, _) if order.narrow => Access::BlockAtomic,
            (true, _) => Access::Atomic,
            (false, true) => Access::Write,
            (false, false) if order.constant => Access::ConstantRead,
            (false, false) => Access::Read,
        }
    }

    /// The bytes of an access to global or shared memory as one range, if the active lanes address neighbouring elements in
    /// their order, or all the same one. Most accesses are of that kind, and checked as a whole.
    fn range(&self) -> Option<Range<u64>> {
        if !matches!(self.space, Space::Global | Space::Shared) {
            return None;
        }
        let first = self.addresses[self.active.trailing_zeros() as usize % WARP];
        if self.active == FULL {
            let step = self.addresses[1].wrapping_sub(first);
            let mut next = first;
            let mut even = true;
            for &address in self.addresses {
                even &= address == next;
                next = next.wrapping_add(step);
            }
            let end = first + if step == 0 { self.bytes } else { self.bytes * WARP as u64 };
            return (even && (step == 0 || step == self.bytes)).then_some(first..end);
        }
        let mut next = first;
        for lane in Bits(self.active) {
            if self.addresses[lane] != next {
                return None;
            }
            next += self.bytes;
        }
        Some(first..next)
    }
}

/// Bytes that the race checkers tell apart: a power of two.
#[derive(Clone, Copy, Debug)]
struct Granule {
    shift: u32,
}

impl Granule {
    /// The granule of `bytes` bytes.
    fn new(bytes: u64) -> Self {
        debug_assert!(bytes.is_power_of_two(), "{bytes}");
        Self { shift: bytes.trailing_zeros() }
    }

    /// Numbers of the granules that an access touches.
    #[inline]
    fn places(self, address: u64, bytes: u64) -> Range<u64> {
        address >> self.shift..((address + bytes - 1) >> self.shift) + 1
    }

    /// First byte of a granule.
    fn address(self, place: u64) -> u64 {
        place << self.shift
    }
}

/// What a block's checkers remember.
pub(super) struct BlockWatch {
    pub(super) clocks: Clocks,
    pub(super) shared: Option<SharedShadow>,
    pub(super) written: Option<WrittenBytes>,
    /// Bytes of shared memory that a `cp.async` under way will write.
    pub(super) unfinished: Vec<bool>,
    /// Copies under way.
    pub(super) under_way: usize,
    /// What they read.
    pub(super) sources: Sources,
    pub(super) volatile: Volatile,
}

impl Turn<'_, '_> {
    /// Shows an access to the checkers.
    pub(super) fn observe(&mut self, warp: &mut Warp, seen: Seen<'_>) -> Outcome {
        self.observe_unordered(warp, &seen)?;
        self.order(warp, &seen)
    }

    /// Shows an access to the checkers, but for races.
    pub(super) fn observe_unordered(&mut self, warp: &mut Warp, seen: &Seen<'_>) -> Outcome {
        let checks = self.job.options.checks;
        let range = seen.range();
        if checks.traffic {
            traffic::count(self, warp, seen, range.as_ref());
        }
        if seen.space == Space::Shared {
            self.finished(seen)?;
        }
        if checks.uninitialised {
            initial::check(self, warp, seen, range.as_ref())?;
        }
        if checks.streams && seen.space == Space::Global {
            match range {
                Some(range) => self.touched.note(seen.access, seen.writes, range),
                None => Bits(seen.active).for_each(|lane| {
                    let start = seen.addresses[lane];
                    self.touched.note(seen.access, seen.writes, start..start + seen.bytes);
                }),
            }
        }
        Ok(())
    }

    /// Holds an access to shared or global memory against those before it.
    pub(super) fn order(&mut self, warp: &mut Warp, seen: &Seen<'_>) -> Outcome {
        let checks = self.job.options.checks;
        if !(checks.shared_races && seen.space == Space::Shared || checks.global_races && seen.space == Space::Global) {
            return Ok(());
        }
        let mut shadow = self.shadow.take();
        let BlockWatch { clocks, shared, sources, volatile, .. } = self.watch();
        if let Some(relied) = volatile.begin(warp.index as usize, seen) {
            warp.pc = relied.pc;
            let (space, address) = relied.place;
            return Err(self.race(space, Access::Volatile, &relied.race, address));
        }
        let found = match (seen.space, shared, &mut shadow) {
            (Space::Shared, Some(shadow), _) => races::check(shadow, clocks, volatile, warp, seen),
            (Space::Global, _, Some(shadow)) => {
                let source = if seen.writes { sources.overwritten(clocks.block(), seen) } else { None };
                source.or_else(|| races::check(shadow, clocks, volatile, warp, seen))
            }
            _ => None,
        };
        self.shadow = shadow;
        match found {
            None => Ok(()),
            Some((race, address)) => Err(self.race(seen.space, seen.access, &race, address)),
        }
    }

    /// As [`Turn::order`], for a plain read of shared memory by words, each of which goes to the lanes with it.
    pub(super) fn order_words(
        &mut self,
        warp: &mut Warp,
        seen: &Seen<'_>,
        words: impl Iterator<Item = (u64, u32)>,
    ) -> Outcome {
        let BlockWatch { clocks, shared, .. } = self.watch();
        let Some(shadow) = shared else { return Ok(()) };
        match races::check_words(shadow, clocks, warp, seen, words) {
            None => Ok(()),
            Some((race, address)) => Err(self.race(seen.space, seen.access, &race, address)),
        }
    }

    /// No access may touch bytes that an asynchronous copy has still to deliver.
    fn finished(&mut self, seen: &Seen<'_>) -> Outcome {
        let watch = self.watch();
        if watch.under_way == 0 {
            return Ok(());
        }
        let unfinished = &watch.unfinished;
        for lane in Bits(seen.active) {
            let start = seen.addresses[lane];
            let hit = (start..start + seen.bytes).find(|&at| unfinished[at as usize]);
            if let Some(address) = hit {
                let kind = FaultKind::Unfinished { access: seen.access, address };
                return Err(Box::new(Trouble { kind, lane, earlier: None }));
            }
        }
        Ok(())
    }

    /// Asynchronous copies to shared memory have begun: an access of its own, and the bytes are out of bounds to all
    /// until they land.
    pub(super) fn observe_begun(&mut self, warp: &mut Warp, seen: Seen<'_>) -> Outcome {
        self.finished(&seen)?;
        self.order(warp, &seen)?;
        for lane in Bits(seen.active) {
            let start = seen.addresses[lane] as usize;
            let watch = self.watch();
            watch.unfinished[start..start + seen.bytes as usize].fill(true);
            watch.under_way += 1;
        }
        Ok(())
    }

    /// An asynchronous copy of `lane` has landed.
    pub(super) fn observe_landed(&mut self, warp: &mut Warp, lane: usize, address: u64, bytes: u64) -> Outcome {
        let range = address as usize..(address + bytes) as usize;
        let watch = self.watch();
        watch.unfinished[range.clone()].fill(false);
        watch.under_way -= 1;
        if let Some(written) = &mut watch.written {
            written.mark(range);
        }
        let mut addresses = [0; WARP];
        addresses[lane] = address;
        let seen = Seen {
            space: Space::Shared,
            access: Access::AsyncWrite,
            reads: false,
            writes: true,
            order: Order::default(),
            active: 1 << lane,
            addresses: &addresses,
            bytes,
            memory: &Memory::Window,
            regs: &[],
        };
        self.order(warp, &seen)
    }

    /// A race on `address` between the running step and an earlier access.
    fn race(&self, space: Space, access: Access, race: &Race, address: u64) -> Box<Trouble> {
        let &Race { earlier: Mark { block, pc, access: earlier_access, .. }, other, lane } = race;
        let thread = super::warp::thread_at((other.0 * WARP + other.1) as u32, self.job.grid.block);
        let earlier = Box::new(Party { block: self.job.block_at(block.into()), thread, ..Party::default() });
        let kind = FaultKind::Race { space, address, access, earlier_access, earlier };
        Box::new(Trouble { kind, lane, earlier: Some(pc) })
    }
}
