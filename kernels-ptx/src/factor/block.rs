//! Reductions over the threads of a block, by a fixed tree.

use crate::dev::{
    idx,
    memory::smem::{Region, SharedSlice},
    sync::block_sync,
    warp::reduce,
};

/// The values of all threads, combined; every thread gets the result, after a barrier.
///
/// # Safety
/// All threads of the block call it; `parts` holds an element for each warp, which nothing else
/// touches meanwhile. A barrier stands between two calls with the same parts. There are at most 32
/// warps.
#[inline(always)]
pub unsafe fn reduce_block(
    value: u64,
    neutral: u64,
    parts: SharedSlice<u64>,
    combine: impl Fn(u64, u64) -> u64 + Copy,
) -> u64 {
    let of_warp = reduce(value, combine);
    if idx::lane() == 0 {
        parts.set(idx::warp(), of_warp);
    }
    block_sync();
    let part = if idx::lane() < idx::bdim_x() / 32 { parts.get(idx::lane()) } else { neutral };
    reduce(part, combine)
}

/// [`reduce_block`] of the sum of doubles.
///
/// # Safety
/// As for [`reduce_block`].
#[inline(always)]
pub unsafe fn sum_block(value: f64, parts: Region<u64>) -> f64 {
    f64::from_bits(reduce_block(value.to_bits(), 0, parts.slice(), add))
}

/// The sum of doubles, as patterns.
#[inline(always)]
pub fn add(a: u64, b: u64) -> u64 {
    (f64::from_bits(a) + f64::from_bits(b)).to_bits()
}
