//! A launch, as every block of it sees it.

use std::sync::Arc;

use crate::exec::code::Code;
use crate::exec::fault::FaultKind;
use crate::exec::memory::{Memory, MemoryView};
use crate::exec::options::{Grid, Options};

/// What every block of a launch needs to know.
pub(in crate::exec) struct LaunchJob<'j> {
    pub(in crate::exec) code: &'j Code,
    pub(in crate::exec) params: &'j [u8],
    pub(in crate::exec) grid: Grid,
    pub(in crate::exec) options: &'j Options,
    pub(in crate::exec) memory: &'j Memory,
    pub(in crate::exec) device: u32,
    /// Memory that the device may touch.
    pub(in crate::exec) view: &'j MemoryView,
    /// Addresses of the module's variables.
    pub(in crate::exec) globals: Arc<[u64]>,
    /// Whether accesses are shown to the checkers.
    pub(in crate::exec) checked: bool,
    /// Whether the build of the loop for wide vectors runs here.
    pub(in crate::exec) wide_vectors: bool,
}

/// A fault with its place in the code and the grid.
#[derive(Debug)]
pub(in crate::exec) struct LocatedFault {
    pub(in crate::exec) kind: FaultKind,
    pub(in crate::exec) pc: u32,
    pub(in crate::exec) block: [u32; 3],
    pub(in crate::exec) thread: [u32; 3],
    /// The step of the earlier party of a race.
    pub(in crate::exec) earlier: Option<u32>,
}

impl LaunchJob<'_> {
    /// Coordinates of block number `linear`.
    pub(super) fn block_at(&self, linear: u64) -> [u32; 3] {
        let [x, y, _] = self.grid.grid.map(u64::from);
        [linear % x, linear / x % y, linear / x / y].map(|n| n as u32)
    }

    /// The PTX line of a step.
    #[inline]
    pub(super) fn line(&self, pc: u32) -> u32 {
        self.code.origins[self.code.origin[pc as usize] as usize].line
    }

    /// Shared memory of a block.
    pub(super) fn shared_bytes(&self) -> u64 {
        self.code.static_shared + u64::from(self.grid.dynamic_shared)
    }

    /// Shared memory of a block with the gaps between its arrays.
    pub(super) fn shared_span(&self) -> u64 {
        self.shared_bytes() + self.code.gaps
    }
}
