//! Products of matrices of words modulo 2^64, a tile of 64 x 64 to a block at a time.
//!
//! Both factors go through shared memory, 16 terms at a time: x is read once for each tile of
//! columns and y once for each tile of rows. `out` is written once, and read before only if beta is
//! not 0.
//!
//! A thread has 16 sums; a term of each is a multiply-add of 64 bits, made of three of 32 bits, and
//! half a read of shared memory. The pipe of multiplications limits a large product. A product with
//! few rows or columns fills only a part of its tiles.

use core::hint::assert_unchecked;

use core_types::params::share::MatmulWordsParams;

use crate::dev::{
    idx,
    memory::smem::{Layout, Region, SharedSlice},
    sync::block_sync,
    unroll::unroll,
};

/// Rows and columns of a tile.
const SIZE: u32 = 64;
/// Terms that shared memory holds at once.
const DEPTH: u32 = 16;
/// Threads of a block, a square of 16 x 16.
///
/// Each has every 16th row and column of the tile, from its own on.
const THREADS: u32 = 256;
/// Words from term to term, so that neither direction meets bank conflicts.
const PITCH: u32 = SIZE + 1;

const X: Region<u64> = Layout::new().array(DEPTH * PITCH);
const Y: Region<u64> = X.end().array(DEPTH * PITCH);
/// Shared memory of a block.
const BYTES: u32 = Y.end().bytes();

/// Writes terms of a factor to shared memory, `word(k, line)` for each.
///
/// Neighbouring threads read neighbouring lines if `along_lines`, else neighbouring terms.
///
/// # Safety
/// A barrier lies between this and any other use of the factor.
#[inline(always)]
unsafe fn fill(to: SharedSlice<u64>, along_lines: bool, word: impl Fn(u32, u32) -> u64) {
    let mut at = 0;
    while at < DEPTH * SIZE {
        let own = at + idx::tid_x();
        let (k, line) = if along_lines { (own / SIZE, own % SIZE) } else { (own % DEPTH, own / DEPTH) };
        to.set(k * PITCH + line, word(k, line));
        at += THREADS;
    }
}

/// `out = alpha x y + beta out`. Grid: any; block: 256.
///
/// # Safety
/// As the crate; views have the lengths of `ShareOps::matmul_words`, and `out` is not empty.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn fss_matmul_words(
    params: MatmulWordsParams,
    x: *const u64,
    y: *const u64,
    out: *mut u64,
) {
    let MatmulWordsParams { batch, rows, inner, cols, alpha, beta } = params;
    let (row_tiles, col_tiles) = (rows.div_ceil(u64::from(SIZE)), cols.div_ceil(u64::from(SIZE)));
    assert_unchecked(row_tiles != 0);
    assert_unchecked(col_tiles != 0);
    let (x_terms, y_terms) = (X.slice(), Y.slice());
    let (own_row, own_col) = (idx::tid_x() / 16, idx::tid_x() % 16);
    let mut tile = u64::from(idx::bid_x());
    while tile < batch * row_tiles * col_tiles {
        // The tiles of a row of tiles follow each other, then come the rows below, then the next product.
        let (line, first_col) = (tile / col_tiles, tile % col_tiles * u64::from(SIZE));
        let (product, first_row) = (line / row_tiles, line % row_tiles * u64::from(SIZE));
        let (x, y) = (x.add((product * rows * inner) as usize), y.add((product * inner * cols) as usize));
        let mut sums = [[0u64; 4]; 4];
        let mut first = 0;
        while first < inner {
            // Zeros past the ends add nothing.
            fill(x_terms, false, |k, line| {
                let (row, k) = (first_row + u64::from(line), first + u64::from(k));
                if row < rows && k < inner { *x.add((row * inner + k) as usize) } else { 0 }
            });
            fill(y_terms, true, |k, line| {
                let (k, col) = (first + u64::from(k), first_col + u64::from(line));
                if k < inner && col < cols { *y.add((k * cols + col) as usize) } else { 0 }
            });
            block_sync();
            let mut k = 0;
            while k < DEPTH {
                let (mut a, mut b) = ([0; 4], [0; 4]);
                unroll!(I in 0..4 => {
                    a[I as usize] = x_terms.get(k * PITCH + own_row + 16 * I);
                    b[I as usize] = y_terms.get(k * PITCH + own_col + 16 * I);
                });
                unroll!(I in 0..4 => {
                    unroll!(J in 0..4 => {
                        let (sum, term) = (sums[I as usize][J as usize], a[I as usize].wrapping_mul(b[J as usize]));
                        sums[I as usize][J as usize] = sum.wrapping_add(term);
                    });
                });
                k += 1;
            }
            block_sync();
            first += u64::from(DEPTH);
        }
        unroll!(I in 0..4 => {
            unroll!(J in 0..4 => {
                let (row, col) = (first_row + u64::from(own_row + 16 * I), first_col + u64::from(own_col + 16 * J));
                if row < rows && col < cols {
                    let out = out.add(((product * rows + row) * cols + col) as usize);
                    let sum = alpha.wrapping_mul(sums[I as usize][J as usize]);
                    *out = if beta == 0 { sum } else { sum.wrapping_add(beta.wrapping_mul(*out)) };
                }
            });
        });
        tile += u64::from(idx::gdim_x());
    }
}

kernel_table! {
    fss_matmul_words: block [THREADS, 1, 1], min_blocks 3, shared Bytes(BYTES), barriers 2;
}
