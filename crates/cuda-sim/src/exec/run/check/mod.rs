//! The checkers: what they are shown, and in which order they look.

mod clocks;
mod global;
mod initial;
mod shared;
mod traffic;

use super::super::code::{Order, Slot};
use super::super::fault::{Access, FaultKind, Party, Space};
use super::super::lanes::{Bits, WARP};
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
        if checks.traffic {
            traffic::count(self, warp, &seen);
        }
        if seen.space == Space::Shared {
            self.finished(&seen)?;
        }
        if checks.uninitialised {
            initial::check(self, warp, &seen)?;
        }
        if checks.shared_races && seen.space == Space::Shared {
            shared::check(self, warp, &seen)?;
        }
        if checks.global_races && seen.space == Space::Global {
            global::check(self, warp, &seen)?;
        }
        Ok(())
    }

    /// Remembers what the lanes of a store write: equal values in one instruction are no race.
    pub(super) fn note_values(&mut self, warp: &Warp, regs: &[Slot], active: u32) {
        self.values.clear();
        for lane in Bits(active) {
            let mix = regs.iter().fold(0_u64, |mix, &slot| mix.rotate_left(23) ^ warp.regs.lane(slot, lane));
            self.values.push(mix);
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
        self.values.clear();
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
