//! The allocations that were live at one moment, for lock-free lookup by address.

use std::sync::Arc;

use super::fault::Allocation;
use super::storage::Storage;

/// A live range and its bytes.
#[derive(Clone)]
pub(in crate::exec) struct MemoryRegion {
    pub(in crate::exec) info: Allocation,
    pub(in crate::exec) storage: Arc<Storage>,
}

impl MemoryRegion {
    /// Whether `bytes` bytes at `address` lie in the region.
    #[inline(always)]
    pub(in crate::exec) fn contains(&self, address: u64, bytes: u64) -> bool {
        let offset = address.wrapping_sub(self.info.base);
        offset < self.info.bytes && bytes <= self.info.bytes - offset
    }
}

/// Live regions in address order.
///
/// A launch holds one, so memory freed meanwhile stays valid storage.
pub(in crate::exec) struct MemoryView {
    pub(in crate::exec) regions: Vec<MemoryRegion>,
}

impl MemoryView {
    /// Index of the region that holds `address`.
    pub(in crate::exec) fn find(&self, address: u64) -> Option<usize> {
        let after = self.regions.partition_point(|region| region.info.base <= address);
        let index = after.checked_sub(1)?;
        self.regions[index].contains(address, 1).then_some(index)
    }
}
