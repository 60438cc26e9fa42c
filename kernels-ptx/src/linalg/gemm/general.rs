//! Products of any layout, by tiles of 32 x 32 in shared memory.
//!
//! A thread computes 2 x 4 elements.
//!
//! # Safety
//! As in [`gemm`](super), for any layout.

use core_types::params::gemm::{GemmParams, GemmShare, MatrixStrides};

use super::{
    super::real::{Bf16, F16, Real},
    Tile,
    output::Output,
    place,
};
use crate::dev::{
    idx,
    memory::smem::{Layout, Region, SharedSlice},
    numeric::math::fma,
    sync::block_sync,
    unroll::unroll,
};

/// Rows, columns and depth of a tile.
pub const SIZE: u32 = 32;
/// Threads of a block.
pub const THREADS: u32 = 128;
/// Floats from one line of a tile to the next.
///
/// With this distance, neither direction meets bank conflicts.
const PITCH: u32 = SIZE + 1;

const A: Region<f32> = Layout::new().array(SIZE * PITCH);
const B: Region<f32> = A.end().array(SIZE * PITCH);
/// Shared memory of a block.
pub const BYTES: u32 = B.end().bytes();

/// Reads a tile: element `(k, i)` goes to `k PITCH + i`, zero where there is none.
#[inline(always)]
unsafe fn fill<T: Real>(x: *const T, k: [u64; 2], i: [u64; 2], k_left: u32, i_left: u32, to: SharedSlice<f32>) {
    let ([k_stride, k_first], [i_stride, i_first]) = (k, i);
    let along_k = k_stride < i_stride;
    let (fast, slow) = (idx::tid_x() % SIZE, idx::tid_x() / SIZE);
    let mut line = slow;
    while line < SIZE {
        let (k, i) = if along_k { (fast, line) } else { (line, fast) };
        let at = (k_first + u64::from(k)) * k_stride + (i_first + u64::from(i)) * i_stride;
        let exists = k < k_left && i < i_left;
        to.set(k * PITCH + i, if exists { (*x.add(at as usize)).widen() } else { 0.0 });
        line += THREADS / SIZE;
    }
}

#[inline(always)]
unsafe fn product<T: Real>(
    p: &GemmParams,
    share: GemmShare,
    a: *const T,
    b: *const T,
    bias: *const T,
    c: *mut T,
    work: *mut f32,
) {
    let tile = Tile::own(p, share, SIZE, SIZE);
    let (tile_a, tile_b) = (A.slice(), B.slice());
    let (tm, tn) = (idx::tid_x() / 8, idx::tid_x() % 8);
    let mut acc = [[0.0; 4]; 2];
    let mut term = 0;
    while term < tile.terms {
        let first = |s: &MatrixStrides| place(p, s, tile.matrix, term) as usize;
        let (a, b) = (a.add(first(&p.a)), b.add(first(&p.b)));
        let mut k0 = tile.k_first;
        while k0 < tile.k_end {
            let k_left = tile.k_end - k0;
            let (m_left, n_left) = (p.m as u32 - tile.row, p.n as u32 - tile.col);
            fill(a, [p.a.col, u64::from(k0)], [p.a.row, u64::from(tile.row)], k_left, m_left, tile_a);
            fill(b, [p.b.row, u64::from(k0)], [p.b.col, u64::from(tile.col)], k_left, n_left, tile_b);
            block_sync();
            let mut k = 0;
            while k < SIZE {
                let x = [tile_a.get(k * PITCH + tm), tile_a.get(k * PITCH + tm + 16)];
                unroll!(J in 0..4 => {
                    let y = tile_b.get(k * PITCH + tn + 8 * J);
                    acc[0][J as usize] = fma(x[0], y, acc[0][J as usize]);
                    acc[1][J as usize] = fma(x[1], y, acc[1][J as usize]);
                });
                k += 1;
            }
            block_sync();
            k0 += SIZE;
        }
        term += 1;
    }
    // Through shared memory, so that neighbours in memory are written by neighbours, and the text holds the epilogue once.
    unroll!(J in 0..4 => {
        tile_a.set(tm * PITCH + tn + 8 * J, acc[0][J as usize]);
        tile_a.set((tm + 16) * PITCH + tn + 8 * J, acc[1][J as usize]);
    });
    block_sync();
    let out = Output::new(p, &tile, bias, c, work);
    let along_rows = p.c.row < p.c.col;
    let mut i = idx::tid_x();
    while i < SIZE * SIZE {
        let (row, col) = if along_rows { (i % SIZE, i / SIZE) } else { (i / SIZE, i % SIZE) };
        out.put(tile.row + row, tile.col + col, tile_a.get(row * PITCH + col));
        i += THREADS;
    }
}

products! {
    block [THREADS, 1, 1], min_blocks 8, shared Bytes(BYTES), barriers 3;
    linalg_gemm_general_f32: f32 = product;
    linalg_gemm_general_f16: F16 = product;
    linalg_gemm_general_bf16: Bf16 = product;
}
