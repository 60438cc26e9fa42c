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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::exec::lanes::LaneBits;

    /// The threads of a mark, as warps and lanes.
    fn threads(mark: &AccessMark) -> BTreeSet<(usize, usize)> {
        LaneBits(mark.warps).flat_map(|warp| LaneBits(mark.lanes).map(move |lane| (warp, lane))).collect()
    }

    fn is_product(all: &BTreeSet<(usize, usize)>) -> bool {
        let (warps, lanes): (BTreeSet<usize>, BTreeSet<usize>) = all.iter().copied().unzip();
        warps.len() * lanes.len() == all.len()
    }

    #[test]
    fn marks_are_joined_and_cut_as_sets_of_threads() {
        let mark = |warps, lanes| AccessMark { time: 1, warps, lanes, ..AccessMark::NONE };
        for masks in 0..256_u32 {
            let [a, b] = [(masks & 3, masks >> 2 & 3), (masks >> 4 & 3, masks >> 6)].map(|(w, l)| mark(w, l));
            let (first, second) = (threads(&a), threads(&b));
            assert_eq!(a.is_empty(), first.is_empty());
            if first.is_empty() || second.is_empty() {
                continue;
            }
            let (mut sum, mut rest) = (a, a);
            let is_added = sum.add(&b);
            let all: BTreeSet<_> = first.union(&second).copied().collect();
            if is_added {
                assert_eq!(threads(&sum), all, "{a:?} {b:?}");
            } else {
                assert_eq!(threads(&sum), first, "{a:?} {b:?}");
                assert!(!is_product(&all) || first.is_subset(&second), "{a:?} {b:?}");
            }
            rest.remove(&b);
            let left: BTreeSet<_> = first.difference(&second).copied().collect();
            if is_product(&left) {
                assert_eq!(threads(&rest), left, "{a:?} {b:?}");
            } else {
                assert_eq!(threads(&rest), first, "{a:?} {b:?}");
            }
        }
        // Other blocks, clocks and kinds of access stay apart.
        for other in [
            AccessMark { block: 1, ..mark(1, 1) },
            AccessMark { time: 2, ..mark(1, 1) },
            AccessMark { access: Access::Atomic, ..mark(1, 1) },
        ] {
            let (mut sum, mut rest) = (mark(1, 1), mark(1, 1));
            assert!(!sum.add(&other), "{other:?}");
            rest.remove(&other);
            assert_eq!(rest.is_empty(), other.time == 2, "a later access of the same threads replaces it");
        }
    }
}
