//! Products of tall matrices and small ones, a tile of 32 x 32 to a block.
//!
//! # Safety
//! `x` is `p.rows x p.inner`, `c` is `p.inner x p.cols`, `y` is `p.rows x p.cols`; rows are below
//! 2^31. Grid: tiles of the rows x tiles of the columns; block: 256.

use core_types::params::factor::TallParams;

use super::tile::{BYTES, SIZE, Sums, THREADS, Tiles, place};
use crate::dev::{idx, sync::block_sync, unroll::unroll};

/// `Y = X C`, in f64 and rounded once.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn factor_product(p: TallParams, x: *const f32, c: *const f64, y: *mut f32) {
    let (rows, inner, cols) = (p.rows as u32, p.inner as u32, p.cols as u32);
    let (first_row, first_col) = (idx::bid_x() * SIZE, idx::bid_y() * SIZE);
    let tiles = Tiles::own();
    let mut sums = Sums([[0.0; 2]; 2]);
    let mut depth = 0;
    while depth < inner {
        Tiles::fill(tiles.a, false, |k, i| {
            let (row, k) = (first_row + i, depth + k);
            if row < rows && k < inner {
                f64::from(*x.add((u64::from(row) * u64::from(inner) + u64::from(k)) as usize))
            } else {
                0.0
            }
        });
        Tiles::fill(tiles.b, true, |k, i| {
            let (col, k) = (first_col + i, depth + k);
            if col < cols && k < inner { *c.add((k * cols + col) as usize) } else { 0.0 }
        });
        block_sync();
        tiles.multiply(&mut sums);
        block_sync();
        depth += SIZE;
    }
    let (row, col) = place();
    unroll!(I in 0..2 => {
        unroll!(J in 0..2 => {
            let (row, col) = (first_row + row + 16 * I, first_col + col + 16 * J);
            if row < rows && col < cols {
                let at = (u64::from(row) * u64::from(cols) + u64::from(col)) as usize;
                *y.add(at) = sums.0[I as usize][J as usize] as f32;
            }
        });
    });
}

kernel_table! {
    factor_product: block [THREADS, 1, 1], min_blocks 4, shared Bytes(BYTES), barriers 2;
}
