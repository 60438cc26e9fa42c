//! A remembered access, and two that conflict.

use crate::exec::fault::Access;

/// A remembered access of threads of one block, in one instruction or several.
#[derive(Clone, Copy, Debug)]
pub(in crate::exec::run) struct AccessMark {
    /// Number of the block.
    ///
    /// Grids of more blocks than fit are not run under this checker in any sensible time.
    pub(in crate::exec::run) block: u32,
    /// The clock of each of the warps; 0 if there is no access.
    pub(in crate::exec::run) time: u32,
    /// Which warps of the block, and which lanes of each of them.
    pub(in crate::exec::run) warps: u32,
    pub(in crate::exec::run) lanes: u32,
    pub(in crate::exec::run) pc: u32,
    pub(in crate::exec::run) access: Access,
}

impl AccessMark {
    /// No access.
    pub(super) const NONE: Self = Self { block: 0, time: 0, warps: 0, lanes: 0, pc: 0, access: Access::Read };

    #[inline(always)]
    pub(super) fn is_none(&self) -> bool {
        self.time == 0
    }

    #[inline]
    pub(super) fn is_strong(&self) -> bool {
        matches!(self.access, Access::Atomic | Access::BlockAtomic | Access::Volatile)
    }

    /// Adds another access of the same kind and clock.
    ///
    /// False if a mark of both would say more than the two.
    #[inline(always)]
    pub(super) fn add(&mut self, other: &Self) -> bool {
        if (self.time, self.block, self.access) != (other.time, other.block, other.access) {
            return false;
        }
        if self.warps == other.warps {
            self.lanes |= other.lanes;
        } else if self.lanes == other.lanes {
            self.warps |= other.warps;
        } else {
            return other.warps & !self.warps == 0 && other.lanes & !self.lanes == 0;
        }
        true
    }

    /// Takes threads out, if a mark can say so.
    #[inline]
    pub(super) fn remove(&mut self, other: &Self) {
        if self.block != other.block || self.access != other.access {
            return;
        }
        if self.warps & !other.warps == 0 {
            self.lanes &= !other.lanes;
        } else if self.lanes & !other.lanes == 0 {
            self.warps &= !other.warps;
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.warps == 0 || self.lanes == 0
    }
}

/// Two accesses that conflict without an order between them.
#[derive(Clone, Copy, Debug)]
pub(in crate::exec::run) struct Race {
    pub(in crate::exec::run) earlier: AccessMark,
    /// Warp and lane of the earlier access.
    pub(in crate::exec::run) other: (usize, usize),
    /// The lane of the later access.
    pub(in crate::exec::run) lane: usize,
}
