//! Who a thread is: indices in its block, its block's in the grid, and shares of a range.

use super::intrinsics as llvm;

macro_rules! registers {
    ($($(#[$doc:meta])* $name:ident = $read:ident;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name() -> u32 {
            // SAFETY: reads a special register.
            unsafe { llvm::$read() }
        }
    )*};
}

registers! {
    /// Index of the thread in its block.
    tid_x = tid_x;
    /// Index of the block in the grid.
    bid_x = ctaid_x;
    /// Index of the block in the grid.
    bid_y = ctaid_y;
    /// Index of the block in the grid.
    bid_z = ctaid_z;
    /// Threads of a block.
    bdim_x = ntid_x;
    /// Blocks of the grid.
    gdim_x = nctaid_x;
    /// Blocks of the grid.
    gdim_y = nctaid_y;
    /// Index of the thread in its warp, below 32.
    lane = laneid;
}

/// Index of the warp in a one-dimensional block.
#[inline(always)]
pub fn warp() -> u32 {
    tid_x() >> 5
}

/// Index of the thread in a one-dimensional grid of one-dimensional blocks, modulo 2^32.
#[inline(always)]
pub fn global_id() -> u32 {
    bid_x() * bdim_x() + tid_x()
}

/// The indices below `len` that this thread of a one-dimensional grid handles.
///
/// They are its own, then each one grid's width further.
#[inline(always)]
pub fn grid_stride(len: u64) -> impl Iterator<Item = u64> {
    let first = u64::from(bid_x()) * u64::from(bdim_x()) + u64::from(tid_x());
    stride(first, u64::from(gdim_x()) * u64::from(bdim_x()), len)
}

/// The indices below `len` that this thread of a one-dimensional block handles.
///
/// They are its own, then each one block's width further.
#[inline(always)]
pub fn block_stride(len: u32) -> impl Iterator<Item = u32> {
    let step = bdim_x();
    let mut next = tid_x();
    core::iter::from_fn(move || {
        let index = next;
        next += step;
        (index < len).then_some(index)
    })
}

#[inline(always)]
fn stride(first: u64, step: u64, len: u64) -> impl Iterator<Item = u64> {
    let mut next = first;
    core::iter::from_fn(move || {
        let index = next;
        next += step;
        (index < len).then_some(index)
    })
}
