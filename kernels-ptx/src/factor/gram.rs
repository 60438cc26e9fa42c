//! Gram matrices of tall matrices.
//!
//! They are partial sums over parts of the rows (`blockIdx.x`), one tile of the upper triangle each
//! (`blockIdx.y`), which a second kernel adds in their order.
//!
//! # Safety
//! `x` is `p.rows x p.cols`, `parts` has `p.cols^2` doubles for each part, `gram` has `p.cols^2`. A
//! part has `part_rows` rows, a multiple of 32; columns are at most 1024.

use core::hint::assert_unchecked;

use core_types::params::factor::MatrixParams;

use super::tile::{BYTES, SIZE, Sums, THREADS, Tiles, place};
use crate::dev::{idx, sync::block_sync, unroll::unroll};

/// The sums of a part. Grid: parts x tiles; block: 256.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn factor_gram(p: MatrixParams, part_rows: u32, x: *const f32, parts: *mut f64) {
    let (rows, cols) = (p.rows as u32, p.cols as u32);
    // Tiles of the upper triangle, column by column: (0, 0), (0, 1), (1, 1), (0, 2), ..
    let (mut row_tile, mut col_tile) = (idx::bid_y(), 0);
    while row_tile > col_tile {
        col_tile += 1;
        row_tile -= col_tile;
    }
    let first = idx::bid_x() * part_rows;
    let end = u32::min(rows, first + part_rows);
    let tiles = Tiles::own();
    let mut sums = Sums([[0.0; 2]; 2]);
    let mut row = first;
    while row < end {
        let element = |tile: u32, k: u32, i: u32| {
            let (row, col) = (row + k, tile * SIZE + i);
            if row < end && col < cols {
                f64::from(*x.add((u64::from(row) * u64::from(cols) + u64::from(col)) as usize))
            } else {
                0.0
            }
        };
        Tiles::fill(tiles.a, true, |k, i| element(row_tile, k, i));
        Tiles::fill(tiles.b, true, |k, i| element(col_tile, k, i));
        block_sync();
        tiles.multiply(&mut sums);
        block_sync();
        row += SIZE;
    }
    let parts = parts.add((idx::bid_x() * cols * cols) as usize);
    let (row, col) = place();
    unroll!(I in 0..2 => {
        unroll!(J in 0..2 => {
            let (row, col) = (row_tile * SIZE + row + 16 * I, col_tile * SIZE + col + 16 * J);
            if row < cols && col < cols {
                *parts.add((row * cols + col) as usize) = sums.0[I as usize][J as usize];
            }
        });
    });
}

/// The sum of `count` parts, of the upper triangle and mirrored. Grid: any; block: 256.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn factor_gram_join(cols: u32, count: u32, parts: *const f64, gram: *mut f64) {
    for i in idx::grid_stride(u64::from(cols * cols)) {
        assert_unchecked(cols != 0);
        let (row, col) = (i as u32 / cols, i as u32 % cols);
        if row <= col {
            let (mut sum, mut part) = (0.0, 0);
            while part < count {
                sum += *parts.add((part * cols * cols + i as u32) as usize);
                part += 1;
            }
            *gram.add(i as usize) = sum;
            *gram.add((col * cols + row) as usize) = sum;
        }
    }
}

kernel_table! {
    factor_gram: block [THREADS, 1, 1], min_blocks 4, shared Bytes(BYTES), barriers 2;
    factor_gram_join: block [THREADS, 1, 1], min_blocks 4, shared None, barriers 0;
}
