//! The signs of singular vectors, a block to a column.
//!
//! # Safety
//! `u` is `p.rows x p.cols`, `v` is `p.other_rows x p.cols`, rows are below 2^31. Grid: a block of
//! 256 threads for each column.

use core_types::params::factor::ColumnPairParams;

use super::block::reduce_block;
use crate::dev::{
    idx,
    memory::smem::{Layout, Region},
    sync::block_sync,
};

/// Threads of a block.
const THREADS: u32 = 256;

const PARTS: Region<u64> = Layout::new().array(THREADS / 32);

/// Negates column `blockIdx.x` of both if the entry of u of largest magnitude is negative.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn factor_orient(p: ColumnPairParams, u: *mut f32, v: *mut f32) {
    let (u, v) = (u.add(idx::bid_x() as usize), v.add(idx::bid_x() as usize));
    let at = |row: u32| (u64::from(row) * p.cols) as usize;
    // The magnitude, then the first row.
    let mut largest = 0;
    for row in idx::block_stride(p.rows as u32) {
        let magnitude = (*u.add(at(row))).to_bits() & 0x7fff_ffff;
        largest = u64::max(largest, u64::from(magnitude) << 32 | u64::from(u32::MAX - row));
    }
    let largest = reduce_block(largest, 0, PARTS.slice(), u64::max);
    let row = u32::MAX - largest as u32;
    let sign = if row < p.rows as u32 { (*u.add(at(row))).to_bits() & 1 << 31 } else { 0 };
    block_sync(); // every thread has read the entry
    let negate = |x: *mut f32, rows: u64| {
        for row in idx::block_stride(rows as u32) {
            let x = x.add(at(row));
            *x = f32::from_bits((*x).to_bits() ^ sign);
        }
    };
    negate(u, p.rows);
    negate(v, p.other_rows);
}

kernel_table! {
    factor_orient: block [THREADS, 1, 1], min_blocks 4, shared Bytes(PARTS.end().bytes()), barriers 2;
}
