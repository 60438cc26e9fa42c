//! The checkers: what they are shown, and in which order they look.

mod clocks;
mod global;
mod initial;
mod shared;
mod traffic;

use std::ops::Range;

use super::super::code::{Order, Slot};
use super::super::fault::{Access, FaultKind, Party, Space};
use super::super::lanes::{Bits, FULL, WARP};
use super::access::Memory;
use super::block::Turn;
use super::warp::Warp;
use super::{Outcome, Trouble};
pub(super) use clocks::Clocks;
pub(super) use global::{BlockClock, GlobalShadow};
pub(super) use initial::WrittenBytes;
pub(super) use shared::SharedShadow;

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
    /// The registers that a store writes: equal values at one place in one instruction are no race.
    pub(super) stored: &'a [Slot],
}

impl Seen<'_> {
    /// A load (or a store) with this order.
    pub(super) fn plain_access(order: Order, writes: bool) -> Access {
        match (order.strong, writes) {
            (true, _) => Access::Atomic,
            (false, true) => Access::Write,
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

/// Who made an access, in brief.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Who {
    /// Number of the thread in its block.
    pub(super) thread: u32,
    /// The step.
    pub(super) pc: u32,
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
    pub(super) global: BlockClock,
}

impl Turn<'_, '_> {
    /// Shows an access to the checkers.
    pub(super) fn observe(&mut self, warp: &mut Warp, seen: Seen<'_>) -> Outcome {
        let checks = self.job.options.checks;
        let range = seen.range();
        if checks.traffic {
            traffic::count(self, warp, &seen, range.as_ref());
        }
        if seen.space == Space::Shared {
            self.finished(&seen)?;
        }
        if checks.uninitialised {
            initial::check(self, warp, &seen, range.as_ref())?;
        }
        if checks.shared_races && seen.space == Space::Shared {
            shared::check(self, warp, &seen)?;
        }
        if checks.global_races && seen.space == Space::Global {
            global::check(self, warp, &seen)?;
        }
        if checks.streams && seen.space == Space::Global {
            match range {
                Some(range) => self.touched.note(seen.access, range),
                None => Bits(seen.active).for_each(|lane| {
                    let start = seen.addresses[lane];
                    self.touched.note(seen.access, start..start + seen.bytes);
                }),
            }
        }
        Ok(())
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
        if self.job.options.checks.shared_races {
            shared::check(self, warp, &seen)?;
        }
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
        if !self.job.options.checks.shared_races {
            return Ok(());
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
            stored: &[],
        };
        shared::check(self, warp, &seen)
    }

    /// A race between the running step of `lane` and an earlier access.
    fn race(&self, lane: usize, seen: &Seen<'_>, address: u64, earlier: Earlier) -> Box<Trouble> {
        let block = match earlier.block {
            None => self.core.index,
            Some(linear) => self.job.block_at(linear),
        };
        let thread = super::warp::thread_at(earlier.who.thread, self.job.grid.block);
        let party = Party { block, thread, ..Party::default() };
        let kind = FaultKind::Race {
            space: seen.space,
            address,
            access: seen.access,
            earlier_access: earlier.access,
            earlier: Box::new(party),
        };
        Box::new(Trouble { kind, lane, earlier: Some(earlier.who.pc) })
    }
}

/// The earlier party of a race.
#[derive(Clone, Copy)]
struct Earlier {
    /// Number of its block; absent for the running one.
    block: Option<u64>,
    who: Who,
    access: Access,
}
