//! Barriers and fences. All threads a barrier names must reach it, in uniform control flow.

use super::intrinsics as llvm;

/// Waits for all threads of the block, and makes their writes visible to each other.
#[inline(always)]
pub fn block_sync() {
    // SAFETY: a kernel calls it where control flow is uniform over the block; the build's lint checks that.
    unsafe { llvm::barrier_sync_all(0) }
}

/// As [`block_sync`], and tells whether the predicate of any thread holds.
#[inline(always)]
pub fn block_any(predicate: bool) -> bool {
    // SAFETY: as above.
    unsafe { llvm::barrier_or(0, predicate) }
}

/// Waits for the lanes in `mask` of this warp, and makes their writes visible to each other.
#[inline(always)]
pub fn warp_sync(mask: u32) {
    // SAFETY: the caller's lane is in `mask`, and all lanes of the mask come here.
    unsafe { llvm::warp_sync(mask) }
}

/// Orders this thread's memory accesses as seen by the device.
#[inline(always)]
pub fn fence_gpu() {
    // SAFETY: a fence has no operands.
    unsafe { llvm::membar_gl() }
}
