//! Tiles of 16-bit elements on the matrix units, with f32 sums.
//!
//! A warp takes 16 rows. Lane `4 g + t` holds rows `g` and `g + 8`, and of every eight lines or
//! columns `2 t` and `2 t + 1`. Weights are rounded to the element type, but for lines that have
//! elements that are not finite: those take the ordinary units.
//!
//! # Safety
//! As in [`tile`](super::tile).

use core::f32::consts::LOG2_E;

use super::{
    super::{
        gemm::{
            mma::Fragment,
            shared::{load, store2},
        },
        real::{Bf16, F16, Real},
    },
    tile::{Engine, LINES, OWN, WEIGHT_PITCH, is_read},
};
use crate::dev::{
    idx,
    memory::{
        gmem::U2,
        smem::{SharedAddr, SharedSlice},
    },
    mma::{ldmatrix_x4, ldmatrix_x4_trans},
    numeric::{
        half::{bf16_to_f32, f16_to_f32, pack_bf16, pack_f16},
        math::{exp2_approx, fma},
    },
    sync::{block_sync, warp_sync},
    unroll::unroll,
    warp::{FULL, shfl_xor},
};

/// A 16-bit element type by its bits.
pub trait Half: Fragment {
    /// The bits of infinity, which are the bits of the exponent.
    const INFINITY: u32;

    /// Two elements in one word, `low` in the low half.
    fn pack(low: f32, high: f32) -> u32;

    /// The value of an element.
    fn value(bits: u16) -> f32;
}

impl Half for F16 {
    const INFINITY: u32 = 0x7c00;

    #[inline(always)]
    fn pack(low: f32, high: f32) -> u32 {
        pack_f16(low, high)
    }

    #[inline(always)]
    fn value(bits: u16) -> f32 {
        f16_to_f32(bits)
    }
}

impl Half for Bf16 {
    const INFINITY: u32 = 0x7f80;

    #[inline(always)]
    fn pack(low: f32, high: f32) -> u32 {
        pack_bf16(low, high)
    }

    #[inline(always)]
    fn value(bits: u16) -> f32 {
        bf16_to_f32(bits)
    }
}

/// Bits 15 and 31 of a word: whether its elements are infinite or NaN.
///
/// The other bits are undefined.
#[inline(always)]
fn not_finite<T: Half>(word: u32) -> u32 {
    // The exponent of such an element is all ones: adding one carries into the cleared sign.
    let (exponents, ones) = (T::INFINITY * 0x1_0001, (T::INFINITY & T::INFINITY.wrapping_neg()) * 0x1_0001);
    (word & exponents) + ones
}

/// Writes a block out for each 16 of the first `dim` of `D` elements.
///
/// Rows that take all steps have one branch, so that steps overlap. Shorter ones have a branch for
/// each step. Without one for the first, the compiler moves that step in front of the outer branch.
/// `dim` is a parameter of the launch, so that all threads branch together.
macro_rules! steps_of_16 {
    ($index:ident in 0..$dim:ident, $most:ident => $body:block) => {
        if $dim > $most - 16 {
            unroll!($index in 0..8 => { if 16 * $index < $most $body });
        } else {
            unroll!($index in 0..8 => { if 16 * $index < $most - 16 && 16 * $index < $dim $body });
        }
    };
}

/// Blocks of 64 rows of up to `D` elements, 64 or 128.
pub struct Mma<const D: u32>;

impl<T: Half, const D: u32> Engine<T> for Mma<D> {
    const ROWS: u32 = 64;
    const OWN_ROWS: u32 = 2;
    const OWN_LINES: u32 = 8;
    const WIDTH: u32 = D;
    // Eight vectors lie in different banks.
    const PITCH: u32 = (D + 8) * 2;
    /// By eight columns: two of the first row, two of the second.
    type Sums = [[f32; 4]; 16];
    const ZERO: Self::Sums = [[0.0; 4]; 16];
    type Four = U2;
    const NOTHING: U2 = U2([0; 2]);
    /// By 16 elements: the fragments of the warp's rows.
    type Held = [[u32; 4]; 8];
    const WHOLE_TILES: bool = true;

    #[inline(always)]
    fn row(i: u32) -> u32 {
        idx::warp() * 16 + idx::lane() / 4 + 8 * i
    }

    #[inline(always)]
    fn line(j: u32) -> u32 {
        j / 2 * 8 + idx::lane() % 4 * 2 + j % 2
    }

    #[inline(always)]
    fn across_row(value: f32, combine: impl Fn(f32, f32) -> f32) -> f32 {
        let value = combine(value, shfl_xor(FULL, value, 2));
        combine(value, shfl_xor(FULL, value, 1))
    }

    #[inline(always)]
    unsafe fn load(x: *const T) -> U2 {
        *x.cast::<U2>()
    }

    #[inline(always)]
    fn are_finite(U2([a, b]): U2) -> bool {
        (not_finite::<T>(a) | not_finite::<T>(b)) & 0x8000_8000 == 0
    }

    #[inline(always)]
    unsafe fn store(at: SharedAddr, column: u32, U2([a, b]): U2) {
        store2(at.offset(2 * column), [f32::from_bits(a), f32::from_bits(b)]);
    }

    #[inline(always)]
    unsafe fn set(at: SharedAddr, column: u32, x: f32) {
        SharedSlice::<T>::at(at).set(column, T::narrow(x));
    }

    #[inline(always)]
    unsafe fn dots(rows: SharedAddr, lines: SharedAddr, dim: u32) -> [f32; OWN] {
        let (rows, lines) = (own_rows(rows, <Self as Engine<T>>::PITCH), own_lines(lines, <Self as Engine<T>>::PITCH));
        let mut sums = [[0.0; 4]; 4];
        let mut element = 0;
        while element < dim {
            multiply_16::<T, D>(&mut sums, ldmatrix_x4(rows.offset(2 * element)), lines.offset(2 * element));
            element += 16;
        }
        by_row(&sums)
    }

    #[inline(always)]
    unsafe fn hold(rows: SharedAddr) -> Self::Held {
        block_sync();
        let rows = own_rows(rows, <Self as Engine<T>>::PITCH);
        let mut held = [[0; 4]; 8];
        unroll!(N in 0..8 => {
            if 16 * N < D {
                held[N as usize] = ldmatrix_x4(rows.offset(32 * N));
            }
        });
        held
    }

    #[inline(always)]
    unsafe fn held_dots(held: &Self::Held, _: SharedAddr, lines: SharedAddr, dim: u32) -> [f32; OWN] {
        let lines = own_lines(lines, <Self as Engine<T>>::PITCH);
        let mut sums = [[0.0; 4]; 4];
        steps_of_16!(N in 0..dim, D => {
            multiply_16::<T, D>(&mut sums, held[N as usize], lines.offset(32 * N));
        });
        by_row(&sums)
    }

    #[inline(always)]
    fn exp_nonpositive(x: f32) -> f32 {
        exp2_approx(x * LOG2_E)
    }

    #[inline(always)]
    unsafe fn add_lines(
        sums: &mut Self::Sums,
        weights: &[f32; OWN],
        room: SharedAddr,
        lines: SharedAddr,
        dim: u32,
        special: bool,
    ) {
        let pitch = <Self as Engine<T>>::PITCH;
        if special {
            <Self as Engine<T>>::write(room, weights);
            warp_sync(FULL);
            add_one_by_one::<T, D>(sums, room, lines, pitch);
            return;
        }
        let (row, low, high) = (idx::lane() % 8, idx::lane() / 8 % 2, idx::lane() / 16);
        let lines = lines.offset((low * 8 + row) * pitch + high * 16);
        let weights = [0, 4].map(|k| {
            [
                T::pack(weights[k], weights[k + 1]),
                T::pack(weights[k + 8], weights[k + 9]),
                T::pack(weights[k + 2], weights[k + 3]),
                T::pack(weights[k + 10], weights[k + 11]),
            ]
        });
        steps_of_16!(N in 0..dim, D => {
            unroll!(K in 0..2 => {
                let [a, b, c, d] = ldmatrix_x4_trans(lines.offset(16 * K * pitch + 32 * N));
                T::multiply(&mut sums[(2 * N) as usize], weights[K as usize], [a, b]);
                T::multiply(&mut sums[(2 * N + 1) as usize], weights[K as usize], [c, d]);
            });
        });
    }

    #[inline(always)]
    fn scale(sums: &mut Self::Sums, i: u32, factor: f32) {
        let first = (2 * i) as usize;
        unroll!(N in 0..16 => {
            if 8 * N < D {
                let sums = &mut sums[N as usize];
                sums[first] *= factor;
                sums[first + 1] *= factor;
            }
        });
    }

    #[inline(always)]
    unsafe fn put<Y: Real>(sums: &Self::Sums, i: u32, factor: f32, y: *mut Y, _: bool, dim: u32) {
        let first = (2 * i) as usize;
        unroll!(N in 0..16 => {
            let column = 8 * N + idx::lane() % 4 * 2;
            if 8 * N < D && column < dim {
                let (y, sums) = (y.add(column as usize), &sums[N as usize]);
                let [a, b] = [sums[first] * factor, sums[first + 1] * factor];
                if column + 1 < dim {
                    Y::store2(y, [a, b]);
                } else {
                    *y = Y::narrow(a);
                }
            }
        });
    }
}

/// Where the lane reads a row of its warp's 16 rows for [`ldmatrix_x4`].
///
/// The matrices are rows 0 and 8, and then the next elements of both.
#[inline(always)]
fn own_rows(rows: SharedAddr, pitch: u32) -> SharedAddr {
    let (row, low, high) = (idx::lane() % 8, idx::lane() / 8 % 2, idx::lane() / 16);
    rows.offset((idx::warp() * 16 + low * 8 + row) * pitch + high * 16)
}

/// Where the lane reads a line for [`ldmatrix_x4`]: as [`own_rows`], but elements first.
#[inline(always)]
fn own_lines(lines: SharedAddr, pitch: u32) -> SharedAddr {
    let (row, low, high) = (idx::lane() % 8, idx::lane() / 8 % 2, idx::lane() / 16);
    lines.offset((high * 8 + row) * pitch + low * 16)
}

/// Adds the products of 16 elements of the rows in `x` and of the lines from `lines` on.
#[inline(always)]
unsafe fn multiply_16<T: Half, const D: u32>(sums: &mut [[f32; 4]; 4], x: [u32; 4], lines: SharedAddr) {
    unroll!(N in 0..2 => {
        let [a, b, c, d] = ldmatrix_x4(lines.offset(16 * N * <Mma<D> as Engine<T>>::PITCH));
        T::multiply(&mut sums[(2 * N) as usize], x, [a, b]);
        T::multiply(&mut sums[(2 * N + 1) as usize], x, [c, d]);
    });
}

/// The lane's part of a product, by row.
#[inline(always)]
fn by_row(sums: &[[f32; 4]; 4]) -> [f32; OWN] {
    let mut own = [0.0; OWN];
    unroll!(I in 0..2 => {
        unroll!(J in 0..8 => {
            own[(8 * I + J) as usize] = sums[(J / 2) as usize][(2 * I + J % 2) as usize];
        });
    });
    own
}

/// Adds the product of a tile of weights and one of lines, without lines that are left out.
#[inline(always)]
unsafe fn add_one_by_one<T: Half, const D: u32>(
    sums: &mut [[f32; 4]; 16],
    weights: SharedAddr,
    lines: SharedAddr,
    pitch: u32,
) {
    let weights = weights.offset((idx::warp() * 16 + idx::lane() / 4) * WEIGHT_PITCH);
    let lines = lines.offset(idx::lane() % 4 * 4);
    let mut line = 0;
    while line < LINES {
        let w = [load(weights.offset(4 * line)), load(weights.offset(8 * WEIGHT_PITCH + 4 * line))];
        unroll!(N in 0..16 => {
            if 8 * N < D {
                let word = lines.offset(line * pitch + 16 * N).load();
                let x = [T::value(word as u16), T::value((word >> 16) as u16)];
                let sums = &mut sums[N as usize];
                unroll!(I in 0..2 => {
                    if is_read(w[I as usize]) {
                        let first = (2 * I) as usize;
                        sums[first] = fma(w[I as usize], x[0], sums[first]);
                        sums[first + 1] = fma(w[I as usize], x[1], sums[first + 1]);
                    }
                });
            }
        });
        line += 1;
    }
}
