//! Barriers of blocks that run at once.

use super::{
    atomic, idx,
    sync::{block_sync, fence_gpu},
};

/// A barrier of several blocks that run at once.
pub struct GridBarrier {
    arrived: *mut u32,
    blocks: u32,
    due: u32,
}

impl GridBarrier {
    /// The barrier of one of `blocks` blocks, which share the counter `arrived`, zero at first.
    #[inline(always)]
    pub fn new(arrived: *mut u32, blocks: u32) -> Self {
        Self { arrived, blocks, due: 0 }
    }

    /// Waits for all threads of all blocks, and makes their writes visible to each other.
    ///
    /// # Safety
    /// The blocks run at once. All threads of each call it equally often, fewer than 2^32 times all
    /// blocks together.
    #[inline(always)]
    pub unsafe fn wait(&mut self) {
        self.due += self.blocks;
        block_sync();
        if idx::tid_x() == 0 {
            fence_gpu();
            atomic::add(self.arrived, 1);
            while atomic::load_acquire_gpu(self.arrived) < self.due {}
        }
        block_sync();
    }
}
