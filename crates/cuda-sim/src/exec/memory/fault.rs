//! What can be wrong with an address.

use std::fmt;

/// One allocation, live or freed, as errors and pointer queries show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Serial number of the allocation within its [`Memory`](super::Memory), from 1.
    pub id: u64,
    /// The device that owns it; `None` for mapped host memory.
    pub device: Option<u32>,
    /// First address.
    pub base: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// When it was freed: the number of allocations made before, so "freed after allocation n".
    ///
    /// `None` while live.
    pub freed_after: Option<u64>,
}

impl fmt::Display for Allocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, base, bytes, .. } = self;
        write!(f, "allocation {id} ({bytes} bytes at {base:#x}")?;
        match self.device {
            Some(device) => write!(f, ", device {device}")?,
            None => write!(f, ", mapped host memory")?,
        }
        match self.freed_after {
            Some(after) => write!(f, ", freed after allocation {after} was made)"),
            None => write!(f, ")"),
        }
    }
}

/// An access to bytes that the accessing device may not touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{bytes} bytes at {address:#x}: {problem}")]
pub struct MemoryFault {
    /// First address of the access.
    pub address: u64,
    /// Length of the access in bytes.
    pub bytes: u64,
    /// The problem with it.
    pub problem: MemoryProblem,
}

/// Why an address was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryProblem {
    /// The address lies in the first page.
    #[error("null pointer")]
    Null,
    /// The address is one of the host process and no mapped range holds it.
    #[error("host pointer used as a device pointer")]
    HostPointer,
    /// The access starts inside a live allocation and ends past it.
    #[error("{past} bytes past the end of {allocation}")]
    PastEnd {
        /// The allocation that the access starts in or just past.
        allocation: Allocation,
        /// Distance from the end of the allocation to the end of the access.
        past: u64,
    },
    /// The access starts below a live allocation.
    #[error("{before} bytes before {allocation}")]
    Before {
        /// The allocation that the access starts below.
        allocation: Allocation,
        /// Distance from the start of the access to the allocation.
        before: u64,
    },
    /// The allocation was freed.
    #[error("use after free, offset {offset} of {allocation}")]
    Freed {
        /// The freed allocation.
        allocation: Allocation,
        /// Offset of the access in it.
        offset: u64,
    },
    /// No allocation was ever near the address.
    #[error("no allocation there")]
    Unmapped,
    /// The memory of another device, without peer access.
    #[error("device {accessor} has no peer access to {allocation}")]
    NoPeerAccess {
        /// The device that made the access.
        accessor: u32,
        /// The allocation that it tried to touch.
        allocation: Allocation,
    },
    /// A free of an address inside an allocation.
    #[error("not the start of {allocation}")]
    NotABase {
        /// The allocation that holds the address.
        allocation: Allocation,
    },
}

/// An allocation larger than the free memory of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("device {device} out of memory: asked for {requested} bytes, {free} free")]
pub struct OutOfMemory {
    /// The device.
    pub device: u32,
    /// Requested bytes.
    pub requested: u64,
    /// Bytes left.
    pub free: u64,
}
