//! An access of a warp to memory, as the checkers see it.

use std::ops::Range;

use crate::exec::code::MemoryOrder;
use crate::exec::fault::{Access, Space};
use crate::exec::lanes::{FULL, LaneBits, WARP};
use crate::exec::memory::MemoryRegion;
use crate::exec::register::Slot;

/// The memory an access goes to, with bounds and alignment checked for every active lane.
pub(super) enum AccessedMemory<'a> {
    /// One region holds all of it.
    Region(&'a MemoryRegion),
    /// Each lane's region by itself.
    Regions([u32; WARP]),
    /// Bytes of shared, local or parameter memory, in bounds.
    Window,
}

/// An access of a warp whose bounds and alignment are right, all in one space.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a> {
    pub(super) space: Space,
    pub(super) access: Access,
    pub(super) reads: bool,
    pub(super) writes: bool,
    pub(super) order: MemoryOrder,
    pub(super) active: u32,
    pub(super) addresses: &'a [u64; WARP],
    /// Bytes at each address.
    pub(super) bytes: u64,
    pub(super) memory: &'a AccessedMemory<'a>,
    /// The registers that a load or store moves.
    ///
    /// Equal values at one place in one store are no race.
    pub(super) regs: &'a [Slot],
}

impl<'a> Seen<'a> {
    /// An access without a memory order, whose values are in no register.
    ///
    /// It writes if `access` is the write of an asynchronous copy, and else reads.
    pub(super) fn plain(
        space: Space,
        access: Access,
        active: u32,
        addresses: &'a [u64; WARP],
        bytes: u64,
        memory: &'a AccessedMemory<'a>,
    ) -> Self {
        let (writes, order) = (access == Access::AsyncWrite, MemoryOrder::default());
        Self { space, access, reads: !writes, writes, order, active, addresses, bytes, memory, regs: &[] }
    }

    /// A load, a store or a read-modify-write with this order.
    #[inline]
    pub(super) fn access(order: MemoryOrder, writes: bool) -> Access {
        match (order.strong, writes) {
            (true, _) if order.volatile => Access::Volatile,
            (true, _) if order.narrow => Access::BlockAtomic,
            (true, _) => Access::Atomic,
            (false, true) => Access::Write,
            (false, false) if order.constant => Access::ConstantRead,
            (false, false) => Access::Read,
        }
    }

    /// The bytes of an access to global or shared memory as one range.
    ///
    /// `None` unless the active lanes address neighbouring elements in their order, or all the same
    /// one. Most accesses are of that kind, and checked as a whole.
    #[inline]
    pub(super) fn range(&self) -> Option<Range<u64>> {
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
        for lane in LaneBits(self.active) {
            if self.addresses[lane] != next {
                return None;
            }
            next += self.bytes;
        }
        Some(first..next)
    }
}
