//! Tiles of f32 on the ordinary units, for every element type.
//!
//! Threads are 16 x 8. Thread `(row, line)` takes rows `row + 16 i` and lines `line + 8 j`, and of
//! a product of weights and lines columns `32 j + 4 line ..`, four at a time. Sums are chains of
//! fused multiply-adds in the order of elements, or of lines.
//!
//! # Safety
//! As in [`tile`](super::tile).

use super::{
    super::{
        gemm::shared::{load4, store4},
        real::Real,
    },
    tile::{Engine, LINES, OWN, WEIGHT_PITCH, is_finite, is_read},
};
use crate::dev::{
    idx,
    memory::smem::SharedAddr,
    numeric::{functions::exp_nonpositive, math::fma},
    sync::warp_sync,
    unroll::unroll,
    warp::{FULL, shfl_xor},
};

/// Blocks of `16 TM` rows of up to `D` elements, 64 or 128.
pub struct Simt<const D: u32, const TM: u32>;

impl<T: Real, const D: u32, const TM: u32> Engine<T> for Simt<D, TM> {
    const ROWS: u32 = 16 * TM;
    const OWN_ROWS: u32 = TM;
    const OWN_LINES: u32 = 4;
    const WIDTH: u32 = D;
    // Eight vectors lie in different banks.
    const PITCH: u32 = (D + 4) * 4;
    /// By row, 32 columns, and column of four.
    type Sums = [[[f32; 4]; 4]; 4];
    const ZERO: Self::Sums = [[[0.0; 4]; 4]; 4];
    type Four = [f32; 4];
    const NOTHING: [f32; 4] = [0.0; 4];
    type Held = ();
    const WHOLE_TILES: bool = false;

    #[inline(always)]
    fn row(i: u32) -> u32 {
        idx::tid_x() / 8 + 16 * i
    }

    #[inline(always)]
    fn line(j: u32) -> u32 {
        idx::tid_x() % 8 + 8 * j
    }

    #[inline(always)]
    fn across_row(value: f32, combine: impl Fn(f32, f32) -> f32) -> f32 {
        let value = combine(value, shfl_xor(FULL, value, 4));
        let value = combine(value, shfl_xor(FULL, value, 2));
        combine(value, shfl_xor(FULL, value, 1))
    }

    #[inline(always)]
    unsafe fn load(x: *const T) -> [f32; 4] {
        T::load4(x)
    }

    #[inline(always)]
    fn are_finite([a, b, c, d]: [f32; 4]) -> bool {
        is_finite(a) & is_finite(b) & is_finite(c) & is_finite(d)
    }

    #[inline(always)]
    unsafe fn store(at: SharedAddr, column: u32, four: [f32; 4]) {
        store4(at.offset(4 * column), four);
    }

    #[inline(always)]
    unsafe fn set(at: SharedAddr, column: u32, x: f32) {
        at.offset(4 * column).store(x.to_bits());
    }

    #[inline(always)]
    unsafe fn dots(rows: SharedAddr, lines: SharedAddr, dim: u32) -> [f32; OWN] {
        let pitch = <Self as Engine<T>>::PITCH;
        let (rows, lines) = (rows.offset(idx::tid_x() / 8 * pitch), lines.offset(idx::tid_x() % 8 * pitch));
        let mut sums = [0.0; OWN];
        let mut element = 0;
        while element < dim {
            let mut x = [[0.0; 4]; 4];
            unroll!(I in 0..4 => {
                if I < TM {
                    x[I as usize] = load4(rows.offset(16 * I * pitch + 4 * element));
                }
            });
            unroll!(J in 0..4 => {
                let y = load4(lines.offset(8 * J * pitch + 4 * element));
                unroll!(I in 0..4 => {
                    if I < TM {
                        let (x, sum) = (x[I as usize], &mut sums[(4 * I + J) as usize]);
                        *sum = fma(x[3], y[3], fma(x[2], y[2], fma(x[1], y[1], fma(x[0], y[0], *sum))));
                    }
                });
            });
            element += 4;
        }
        sums
    }

    #[inline(always)]
    unsafe fn hold(_: SharedAddr) {}

    #[inline(always)]
    unsafe fn held_dots((): &(), rows: SharedAddr, lines: SharedAddr, dim: u32) -> [f32; OWN] {
        <Self as Engine<T>>::dots(rows, lines, dim)
    }

    #[inline(always)]
    fn exp_nonpositive(x: f32) -> f32 {
        exp_nonpositive(x)
    }

    #[inline(always)]
    unsafe fn add_lines(
        sums: &mut Self::Sums,
        weights: &[f32; OWN],
        room: SharedAddr,
        lines: SharedAddr,
        _: u32,
        special: bool,
    ) {
        <Self as Engine<T>>::write(room, weights);
        warp_sync(FULL);
        let pitch = <Self as Engine<T>>::PITCH;
        if special {
            add::<D, TM, true>(sums, room, lines, pitch);
        } else {
            add::<D, TM, false>(sums, room, lines, pitch);
        }
    }

    #[inline(always)]
    fn scale(sums: &mut Self::Sums, i: u32, factor: f32) {
        let sums = &mut sums[i as usize];
        unroll!(J in 0..4 => {
            sums[J as usize] = sums[J as usize].map(|sum| sum * factor);
        });
    }

    #[inline(always)]
    unsafe fn put<Y: Real>(sums: &Self::Sums, i: u32, factor: f32, y: *mut Y, wide: bool, dim: u32) {
        unroll!(J in 0..4 => {
            let column = 32 * J + idx::tid_x() % 8 * 4;
            if 32 * J < D && column < dim {
                let (y, four) = (y.add(column as usize), sums[i as usize][J as usize].map(|sum| sum * factor));
                if wide {
                    Y::store4(y, four);
                } else {
                    unroll!(E in 0..4 => {
                        if column + E < dim {
                            *y.add(E as usize) = Y::narrow(four[E as usize]);
                        }
                    });
                }
            }
        });
    }
}

/// Adds the product of a tile of weights and one of lines.
#[inline(always)]
unsafe fn add<const D: u32, const TM: u32, const SPECIAL: bool>(
    sums: &mut [[[f32; 4]; 4]; 4],
    weights: SharedAddr,
    lines: SharedAddr,
    pitch: u32,
) {
    let (weights, lines) = (weights.offset(idx::tid_x() / 8 * WEIGHT_PITCH), lines.offset(idx::tid_x() % 8 * 16));
    let mut first = 0;
    while first < LINES {
        let mut w = [[0.0; 4]; 4];
        unroll!(I in 0..4 => {
            if I < TM {
                w[I as usize] = load4(weights.offset(16 * I * WEIGHT_PITCH + 4 * first));
            }
        });
        unroll!(S in 0..4 => {
            unroll!(J in 0..4 => {
                if 32 * J < D {
                    let x = load4(lines.offset((first + S) * pitch + 128 * J));
                    unroll!(I in 0..4 => {
                        if I < TM {
                            let (w, four) = (w[I as usize][S as usize], &mut sums[I as usize][J as usize]);
                            unroll!(E in 0..4 => {
                                if !SPECIAL || is_read(w) {
                                    four[E as usize] = fma(w, x[E as usize], four[E as usize]);
                                }
                            });
                        }
                    });
                }
            });
        });
        first += 4;
    }
}
