//! Columns that make others an orthonormal set, by one block.
//!
//! It reads all columns before the one that it makes. Only matrices without full rank have such
//! columns.
//!
//! # Safety
//! `x` is `p.rows x p.cols` with at least one row per column, rows below 2^31; `products` are
//! `p.cols` doubles, `rank` is one word. Grid: one block of 1024 threads.

use core_types::params::factor::MatrixParams;

use super::block::{add, reduce_block, sum_block};
use crate::dev::{
    idx::{block_stride, lane, warp},
    memory::smem::{Layout, Region},
    numeric::math::sqrt_f64,
    sync::{block_any, block_sync},
    warp::reduce,
};

/// Threads of the block.
const THREADS: u32 = 1024;
/// Its warps.
const WARPS: u32 = THREADS / 32;

const PARTS: Region<u64> = Layout::new().array(WARPS);

/// Replaces the columns from `rank` on.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn factor_complete(p: MatrixParams, rank: *const u32, products: *mut f64, x: *mut f32) {
    let (rows, cols) = (p.rows as u32, p.cols as u32);
    let at = |row: u32, col: u32| x.add((u64::from(row) * u64::from(cols) + u64::from(col)) as usize);
    let read = |row: u32, col: u32| f64::from(*at(row, col));
    let mut j = *rank;
    while block_any(j < cols) {
        // The row with the least part in the columns before. Such parts are ordered like their patterns.
        let (mut least, mut place) = (u64::MAX, u64::MAX);
        for row in block_stride(rows) {
            let (mut part, mut c) = (0.0, 0);
            while c < j {
                part += read(row, c) * read(row, c);
                c += 1;
            }
            if part.to_bits() < least {
                (least, place) = (part.to_bits(), u64::from(row));
            }
        }
        let of_all = reduce_block(least, u64::MAX, PARTS.slice(), u64::min);
        let place = if least == of_all { place } else { u64::MAX };
        block_sync(); // every thread has the least part
        let place = reduce_block(place, u64::MAX, PARTS.slice(), u64::min) as u32;
        for row in block_stride(rows) {
            *at(row, j) = if row == place { 1.0 } else { 0.0 };
        }
        let mut square = 0.0;
        let mut turn = 0;
        while turn < 2 {
            block_sync(); // the column is there, and the products before have been used
            let mut first = 0;
            while first < cols {
                let c = first + warp();
                let mut product = 0.0;
                let mut row = lane();
                while c < j && row < rows {
                    product += read(row, c) * read(row, j);
                    row += 32;
                }
                let product = f64::from_bits(reduce(product.to_bits(), add));
                if c < j && lane() == 0 {
                    *products.add(c as usize) = product;
                }
                first += WARPS;
            }
            block_sync();
            square = 0.0;
            for row in block_stride(rows) {
                let (mut entry, mut c) = (read(row, j), 0);
                while c < j {
                    entry -= *products.add(c as usize) * read(row, c);
                    c += 1;
                }
                *at(row, j) = entry as f32;
                square += entry * entry;
            }
            turn += 1;
        }
        let scale = 1.0 / sqrt_f64(sum_block(square, PARTS));
        for row in block_stride(rows) {
            *at(row, j) = (scale * read(row, j)) as f32;
        }
        j += 1;
    }
}

kernel_table! {
    factor_complete: block [THREADS, 1, 1], min_blocks 1, shared Bytes(PARTS.end().bytes()), barriers 9;
}
