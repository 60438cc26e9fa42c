//! Copies from global to shared memory that run while the thread goes on.
//!
//! A copy has landed after [`wait_group`] and a barrier.

use core::arch::asm;

use super::smem::SharedAddr;

/// Starts a copy of the first `bytes` (at most 16) bytes of 16, the rest zero.
///
/// It bypasses the first-level cache.
///
/// # Safety
/// `source` is a global address whose first `bytes` bytes are readable; both are aligned to 16
/// bytes; no thread touches the target before the copy has landed.
#[inline(always)]
pub unsafe fn cp16_zfill<T>(target: SharedAddr, source: *const T, bytes: u32) {
    asm!("cp.async.cg.shared.global [{}], [{}], 16, {};", in(reg32) target.0, in(reg64) source, in(reg32) bytes,
        options(nostack, preserves_flags));
}

/// Closes the group of copies started since the last call.
#[inline(always)]
pub fn commit() {
    // SAFETY: concerns this thread's own copies.
    unsafe { asm!("cp.async.commit_group;", options(nostack, preserves_flags)) };
}

/// Waits until at most the last `PENDING` groups of this thread are in flight.
#[inline(always)]
pub fn wait_group<const PENDING: u32>() {
    // SAFETY: concerns this thread's own copies.
    unsafe { asm!("cp.async.wait_group {};", const PENDING, options(nostack, preserves_flags)) };
}
