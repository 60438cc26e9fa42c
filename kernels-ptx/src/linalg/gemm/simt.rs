//! f32 products on the ordinary units.
//!
//! Every sum is a chain of fused multiply-adds in the order of k.
//!
//! A warp computes `8 TM x 32` elements, a thread `TM x 8` of them. Tiles are 16 deep, in two
//! stages; a tile that is contiguous along k has 20 floats from line to line, so that neither
//! direction meets bank conflicts, and is read four indices of k at a time.
//!
//! # Safety
//! As in [`gemm`](super), for aligned factors whose layout the kernel's name states.

use core_types::params::gemm::{GemmParams, GemmShare};

use super::{
    Tile,
    feed::{Factor, Feed, Lines},
    output::Output,
    place,
    shared::{load, load4, store4},
};
use crate::dev::{
    idx,
    memory::{cp_async::wait_group, smem::SharedAddr},
    numeric::math::fma,
    opaque::opaque_word,
    sync::{block_sync, warp_sync},
    unroll::unroll,
    warp::FULL,
};

/// Depth of a tile.
const DEPTH: u32 = 16;
/// Bytes from line to line of a tile that is contiguous along k.
const PITCH: u32 = (DEPTH + 4) * 4;
/// Bytes from line to line of a warp's eight rows in the epilogue.
const OUT_PITCH: u32 = (32 + 4) * 4;

/// Shared memory of a block with tiles of `size x size`.
pub const fn bytes(size: u32) -> u32 {
    2 * 2 * size * PITCH
}

/// Bytes from line to line of a tile.
#[inline(always)]
const fn pitch<const LINES: u32, const ALONG_K: bool>() -> u32 {
    if ALONG_K { PITCH } else { LINES * 4 }
}

/// Byte offset in a tile of chunk `part` of a line.
#[inline(always)]
fn target<const LINES: u32, const ALONG_K: bool>(line: u32, part: u32) -> u32 {
    line * pitch::<LINES, ALONG_K>() + part * 16
}

/// One product with tiles of `SIZE x SIZE` and `THREADS` threads.
///
/// `WARPS_N` warps lie side by side, with `TM` rows a thread.
#[inline(always)]
unsafe fn product<
    const SIZE: u32,
    const THREADS: u32,
    const TM: u32,
    const WARPS_N: u32,
    const A_ALONG_K: bool,
    const B_ALONG_K: bool,
>(
    p: &GemmParams,
    share: GemmShare,
    a: *const f32,
    b: *const f32,
    bias: *const f32,
    c: *mut f32,
    work: *mut f32,
) {
    let tile = Tile::own(p, share, SIZE, SIZE);
    let (lane_m, lane_n) = (idx::lane() % 8, idx::lane() / 8);
    let (warp_m, warp_n) = (idx::warp() / WARPS_N * 8 * TM, idx::warp() % WARPS_N * 32);
    let (base, b_offset) = (SharedAddr::dynamic(), SIZE * PITCH);
    let stage_bytes = 2 * SIZE * PITCH;
    let own_a = base.offset(if A_ALONG_K { (warp_m + lane_m) * PITCH } else { (warp_m + 4 * lane_m) * 4 });
    let own_b = base.offset(b_offset + (warp_n + 4 * lane_n) * if B_ALONG_K { PITCH } else { 4 });

    let tiles = (tile.k_end - tile.k_first).div_ceil(DEPTH);
    let mut acc = [[0.0f32; 8]; 8];
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
        let mut index = 0;
        while index < tiles {
            wait_group::<0>();
            block_sync();
            let stage = index % 2 * stage_bytes;
            feed.next(base.offset(stage_bytes - stage));
            let (own_a, own_b) = (own_a.offset(stage), own_b.offset(stage));
            let mut k = 0;
            while k < DEPTH {
                let mut x = [[0.0; 8]; 4];
                if A_ALONG_K {
                    unroll!(I in 0..8 => {
                        if I < TM {
                            let (i, [x0, x1, x2, x3]) = (I as usize, load4(own_a.offset(I * 8 * PITCH + k * 4)));
                            (x[0][i], x[1][i], x[2][i], x[3][i]) = (x0, x1, x2, x3);
                        }
                    });
                } else {
                    unroll!(Q in 0..4 => {
                        let (x, line) = (&mut x[Q as usize], own_a.offset((k + Q) * SIZE * 4));
                        [x[0], x[1], x[2], x[3]] = load4(line);
                        if TM == 8 {
                            [x[4], x[5], x[6], x[7]] = load4(line.offset(32 * 4));
                        }
                    });
                }
                if B_ALONG_K {
                    unroll!(J in 0..8 => {
                        let y = load4(own_b.offset((J / 4 * 16 + J % 4) * PITCH + k * 4));
                        unroll!(Q in 0..4 => {
                            let (x, y) = (&x[Q as usize], y[Q as usize]);
                            unroll!(I in 0..8 => {
                                if I < TM {
                                    let sum = &mut acc[I as usize][J as usize];
                                    *sum = fma(x[I as usize], y, *sum);
                                }
                            });
                        });
                    });
                } else {
                    unroll!(Q in 0..4 => {
                        let (x, line) = (&x[Q as usize], own_b.offset((k + Q) * SIZE * 4));
                        let (y, z) = (load4(line), load4(line.offset(16 * 4)));
                        unroll!(I in 0..8 => {
                            if I < TM {
                                let (x, sums) = (x[I as usize], &mut acc[I as usize]);
                                unroll!(J in 0..4 => {
                                    let j = J as usize;
                                    sums[j] = fma(x, y[j], sums[j]);
                                    sums[j + 4] = fma(x, z[j], sums[j + 4]);
                                });
                            }
                        });
                    });
                }
                k += 4;
            }
            index += 1;
        }
        block_sync(); // every copy that was started has been waited for
        term += 1;
    }

    // Eight rows of the warp at a time go through its own shared memory, so that a row is written by neighbours.
    let rows = base.offset(idx::warp() * 8 * OUT_PITCH);
    let out = Output::new(p, &tile, bias, c, work);
    // Without a product before them, stores of quads tie sum j to a register of the parity of j in the loop above too. So do those
    // of y, and each fma then reads two registers of one bank.
    let one = f32::from_bits(opaque_word(1f32.to_bits()));
    let mut i = 0;
    while i < TM {
        let own = rows.offset(lane_m * OUT_PITCH + lane_n * 16);
        unroll!(I in 0..8 => {
            if I < TM && i == I {
                let [a, b, c, d, e, f, g, h] = acc[I as usize].map(|sum| sum * one);
                store4(own, [a, b, c, d]);
                store4(own.offset(16 * 4), [e, f, g, h]);
            }
        });
        warp_sync(FULL);
        let mut r = 0;
        while r < 8 {
            let row = if A_ALONG_K { r + 8 * i } else { i / 4 * 32 + r * 4 + i % 4 };
            let sum = load(rows.offset(r * OUT_PITCH + idx::lane() * 4));
            out.put(tile.row + warp_m + row, tile.col + warp_n + idx::lane(), sum);
            r += 1;
        }
        warp_sync(FULL);
        i += 1;
    }
}

products! {
    block [128, 1, 1], min_blocks 4, shared Bytes(bytes(64)), barriers 2;
    linalg_gemm_simt64_nn: f32 = product::<64, 128, 4, 2, true, false>;
    linalg_gemm_simt64_nt: f32 = product::<64, 128, 4, 2, true, true>;
    linalg_gemm_simt64_tn: f32 = product::<64, 128, 4, 2, false, false>;
    linalg_gemm_simt64_tt: f32 = product::<64, 128, 4, 2, false, true>;
}

products! {
    block [256, 1, 1], min_blocks 1, shared Bytes(bytes(128)), barriers 2;
    linalg_gemm_simt128_nn: f32 = product::<128, 256, 8, 4, true, false>;
    linalg_gemm_simt128_nt: f32 = product::<128, 256, 8, 4, true, true>;
    linalg_gemm_simt128_tn: f32 = product::<128, 256, 8, 4, false, false>;
    linalg_gemm_simt128_tt: f32 = product::<128, 256, 8, 4, false, true>;
}
