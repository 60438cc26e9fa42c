//! 16-bit products on the matrix units, with f32 sums.
//!
//! Four warps, two by two, of `16 MT x 8 NT` elements each. Tiles are 32 deep, in three stages; the
//! chunks of a line are permuted by its number, so that the eight lines of a fragment lie in
//! different banks.
//!
//! # Safety
//! As in [`gemm`](super), for aligned factors whose layout the kernel's name states; all lanes of a
//! warp call together.

use core_types::params::gemm::{GemmParams, GemmShare};

use super::{
    super::real::{Bf16, F16, Real},
    Tile,
    feed::{Factor, Feed, Lines},
    output::Output,
    place,
    shared::{load2, store2},
};
use crate::dev::{
    idx,
    memory::{cp_async::wait_group, smem::SharedAddr},
    mma::{ldmatrix_x4, ldmatrix_x4_trans, mma_m16n8k16_bf16, mma_m16n8k16_f16},
    sync::{block_sync, warp_sync},
    unroll::unroll,
    warp::FULL,
};

/// Threads of a block.
pub const THREADS: u32 = 128;
/// Depth of a tile.
const DEPTH: u32 = 32;
/// Tiles in flight or in use.
const STAGES: u32 = 3;

/// Shared memory of a block with tiles of `size x size`.
pub const fn bytes(size: u32) -> u32 {
    STAGES * 2 * size * DEPTH * 2
}

/// An element type of the matrix units.
pub trait Fragment: Real {
    /// `c += a b`.
    ///
    /// # Safety
    /// All lanes of the warp call together.
    unsafe fn multiply(c: &mut [f32; 4], a: [u32; 4], b: [u32; 2]);
}

impl Fragment for F16 {
    #[inline(always)]
    unsafe fn multiply(c: &mut [f32; 4], a: [u32; 4], b: [u32; 2]) {
        mma_m16n8k16_f16(c, a, b);
    }
}

impl Fragment for Bf16 {
    #[inline(always)]
    unsafe fn multiply(c: &mut [f32; 4], a: [u32; 4], b: [u32; 2]) {
        mma_m16n8k16_bf16(c, a, b);
    }
}

/// Bytes from line to line of a tile, along k or across.
#[inline(always)]
const fn pitch<const LINES: u32, const ALONG_K: bool>() -> u32 {
    if ALONG_K { DEPTH * 2 } else { LINES * 2 }
}

/// Byte offset in a tile of chunk `part` of a line in memory.
#[inline(always)]
fn target<const LINES: u32, const ALONG_K: bool>(line: u32, part: u32) -> u32 {
    let part = part ^ if ALONG_K { line / 2 % 4 } else { line % 8 };
    line * pitch::<LINES, ALONG_K>() + part * 16
}

/// Loads four 8 x 8 matrices `(across, k)` from line `first` and index `k` of a tile on.
///
/// They are (0, 0), (8, 0), (0, 8), (8, 8), or, with `k_first`, in the order (0, 0), (0, 8), (8,
/// 0), (8, 8).
#[inline(always)]
unsafe fn fragment<const LINES: u32, const ALONG_K: bool>(
    tile: SharedAddr,
    first: u32,
    k: u32,
    k_first: bool,
) -> [u32; 4] {
    let (row, low, high) = (idx::lane() % 8, idx::lane() / 8 % 2, idx::lane() / 16);
    let (across, deep) = if k_first { (high, low) } else { (low, high) };
    if ALONG_K {
        ldmatrix_x4(tile.offset(target::<LINES, true>(first + across * 8 + row, k / 8 + deep)))
    } else {
        ldmatrix_x4_trans(tile.offset(target::<LINES, false>(k + deep * 8 + row, first / 8 + across)))
    }
}

/// One product with tiles of `SIZE x SIZE`.
#[inline(always)]
unsafe fn product<T: Fragment, const SIZE: u32, const A_ALONG_K: bool, const B_ALONG_K: bool>(
    p: &GemmParams,
    share: GemmShare,
    a: *const T,
    b: *const T,
    bias: *const T,
    c: *mut T,
    work: *mut f32,
) {
    let (mt, nt) = (SIZE / 32, SIZE / 16);
    let tile = Tile::own(p, share, SIZE, SIZE);
    let (warp_m, warp_n) = (idx::warp() / 2 * (SIZE / 2), idx::warp() % 2 * (SIZE / 2));
    let (base, b_offset) = (SharedAddr::dynamic(), SIZE * DEPTH * 2);
    let stage_bytes = 2 * b_offset;
    let tiles = (tile.k_end - tile.k_first).div_ceil(DEPTH);
    let mut acc = [[[0.0f32; 4]; 8]; 4];
    let mut term = 0;
    while term < tile.terms {
        let lines_a = Lines {
            matrix: a.add(place(p, &p.a, tile.matrix, term) as usize),
            k_stride: p.a.col,
            stride: p.a.row,
            first: tile.row,
            count: p.m as u32,
        };
        let lines_b = Lines {
            matrix: b.add(place(p, &p.b, tile.matrix, term) as usize),
            k_stride: p.b.row,
            stride: p.b.col,
            first: tile.col,
            count: p.n as u32,
        };
        let mut feed = Feed::<_, SIZE, THREADS, A_ALONG_K, B_ALONG_K> {
            a: Factor::new(&lines_a, tile.k_first, pitch::<SIZE, A_ALONG_K>(), target::<SIZE, A_ALONG_K>),
            b: Factor::new(&lines_b, tile.k_first, pitch::<SIZE, B_ALONG_K>(), target::<SIZE, B_ALONG_K>),
            b_offset,
            k_left: tile.k_end - tile.k_first,
        };
        feed.next(base);
        feed.next(base.offset(stage_bytes));
        let (mut index, mut read, mut write) = (0, 0, 2 * stage_bytes);
        while index < tiles {
            wait_group::<1>();
            block_sync();
            feed.next(base.offset(write));
            let (tile_a, tile_b) = (base.offset(read), base.offset(read + b_offset));
            let mut k = 0;
            while k < DEPTH {
                let mut x = [[0; 4]; 4];
                unroll!(I in 0..4 => {
                    if I < mt {
                        x[I as usize] = fragment::<SIZE, A_ALONG_K>(tile_a, warp_m + 16 * I, k, false);
                    }
                });
                unroll!(J in 0..4 => {
                    if 2 * J < nt {
                        let [b0, b1, b2, b3] = fragment::<SIZE, B_ALONG_K>(tile_b, warp_n + 16 * J, k, true);
                        unroll!(I in 0..4 => {
                            if I < mt {
                                T::multiply(&mut acc[I as usize][(2 * J) as usize], x[I as usize], [b0, b1]);
                                T::multiply(&mut acc[I as usize][(2 * J + 1) as usize], x[I as usize], [b2, b3]);
                            }
                        });
                    }
                });
                k += 16;
            }
            read = if read == 2 * stage_bytes { 0 } else { read + stage_bytes };
            write = if write == 2 * stage_bytes { 0 } else { write + stage_bytes };
            index += 1;
        }
        block_sync(); // every copy that was started has been waited for
        term += 1;
    }

    // Sixteen rows of the warp at a time go through its own shared memory, so that a row is written by neighbours.
    let pitch = (SIZE / 2 + 8) * 4;
    let rows = base.offset(idx::warp() * 16 * pitch);
    let own = rows.offset(idx::lane() / 4 * pitch + idx::lane() % 4 * 8);
    let out = Output::new(p, &tile, bias, c, work);
    let mut i = 0;
    while i < mt {
        unroll!(I in 0..4 => {
            if I < mt && i == I {
                unroll!(J in 0..8 => {
                    if J < nt {
                        let [a, b, c, d] = acc[I as usize][J as usize];
                        store2(own.offset(J * 32), [a, b]);
                        store2(own.offset(J * 32 + 8 * pitch), [c, d]);
                    }
                });
            }
        });
        warp_sync(FULL);
        let pairs = SIZE / 4;
        let mut pair = idx::lane();
        while pair < 16 * pairs {
            let (row, col) = (pair / pairs, pair % pairs * 2);
            let sums = load2(rows.offset(row * pitch + col * 4));
            let (row, col) = (tile.row + warp_m + 16 * i + row, tile.col + warp_n + col);
            // Rows of B that are contiguous are whole chunks.
            if B_ALONG_K {
                out.put2::<false>(row, col, sums);
            } else {
                out.put2::<true>(row, col, sums);
            }
            pair += 32;
        }
        warp_sync(FULL);
        i += 1;
    }
}

products! {
    block [THREADS, 1, 1], min_blocks 4, shared Bytes(bytes(64)), barriers 2;
    linalg_gemm_mma64_nn_f16: F16 = product::<_, 64, true, false>;
    linalg_gemm_mma64_nt_f16: F16 = product::<_, 64, true, true>;
    linalg_gemm_mma64_tn_f16: F16 = product::<_, 64, false, false>;
    linalg_gemm_mma64_tt_f16: F16 = product::<_, 64, false, true>;
    linalg_gemm_mma64_nn_bf16: Bf16 = product::<_, 64, true, false>;
    linalg_gemm_mma64_nt_bf16: Bf16 = product::<_, 64, true, true>;
    linalg_gemm_mma64_tn_bf16: Bf16 = product::<_, 64, false, false>;
    linalg_gemm_mma64_tt_bf16: Bf16 = product::<_, 64, false, true>;
}

products! {
    block [THREADS, 1, 1], min_blocks 2, shared Bytes(bytes(128)), barriers 2;
    linalg_gemm_mma128_nn_f16: F16 = product::<_, 128, true, false>;
    linalg_gemm_mma128_nt_f16: F16 = product::<_, 128, true, true>;
    linalg_gemm_mma128_tn_f16: F16 = product::<_, 128, false, false>;
    linalg_gemm_mma128_tt_f16: F16 = product::<_, 128, false, true>;
    linalg_gemm_mma128_nn_bf16: Bf16 = product::<_, 128, true, false>;
    linalg_gemm_mma128_nt_bf16: Bf16 = product::<_, 128, true, true>;
    linalg_gemm_mma128_tn_bf16: Bf16 = product::<_, 128, false, false>;
    linalg_gemm_mma128_tt_bf16: Bf16 = product::<_, 128, false, true>;
}
