//! Eigenvectors of a small matrix, by one block.
//!
//! They come from its Cholesky factor, then one-sided Jacobi rotations of the factor's rows, a warp
//! to a pair of rows. The pairs of a round share no row (a round-robin tournament). The factor is
//! in shared memory for at most 96 rows, else in global memory.
//!
//! # Safety
//! `gram` is `p.side x p.side`, of at most 1024 rows; `vectors` and `inverse` are
//! `p.side x p.kept`, `sigma` has `p.kept` floats; `peak` is one word or null, `rank` one word.
//! Grid: one block of 1024 threads. For `factor_jacobi` there are at most 96 rows, and `8 side^2`
//! bytes of shared memory after `LENGTHS` and `ORDER`; for `factor_jacobi_wide`, `matrix` is
//! `p.side x p.side`.

use core::hint::assert_unchecked;

use core_types::params::factor::{
    JacobiParams, LEAST_SIGMA, MAX_SIDE, MOST_SWEEPS, ORTHOGONAL, SHARED_SIDE, least_pivot, power_of_two,
    scale_exponent,
};

use super::{block::add, square::Square};
use crate::dev::{
    idx::{block_stride, lane, tid_x, warp},
    memory::smem::{Layout, Region, SharedSlice},
    numeric::math::sqrt_f64,
    sync::{block_any, block_sync, warp_sync},
    unroll::unroll,
    warp::{FULL, reduce},
};

/// Threads of the block.
const THREADS: u32 = 1024;
/// Its warps.
const WARPS: u32 = THREADS / 32;
/// Most rows of a matrix in shared memory.
const MOST: u32 = SHARED_SIDE as u32;
/// Elements of such a row that a lane has.
const PER_LANE: usize = SHARED_SIDE as usize / 32;

/// The least pivot of each row that is not left out, then the lengths of the rows.
const LENGTHS: Region<f64> = Layout::new().array(MOST);
/// The rows by falling length.
const ORDER: Region<u32> = LENGTHS.end().array(MOST);
const MATRIX: Region<f64> = ORDER.end().array(MOST * MOST);
/// [`LENGTHS`] and [`ORDER`] of matrices in global memory.
const WIDE_LENGTHS: Region<f64> = Layout::new().array(MAX_SIDE as u32);
const WIDE_ORDER: Region<u32> = WIDE_LENGTHS.end().array(MAX_SIDE as u32);

/// Replaces the upper triangle of G by its Cholesky factor, and the lower triangle by zeros.
///
/// Omitted pivots get rows of zeros.
#[inline(always)]
unsafe fn factor(side: u32, least: SharedSlice<f64>, matrix: impl Square) {
    let (first_row, first_col) = (tid_x() / 32, tid_x() % 32);
    let mut j = 0;
    while j < side {
        let pivot = matrix.get(j * side + j);
        let kept = pivot > least.get(j) && pivot < f64::INFINITY;
        let mut i = j + 1 + first_row;
        while i < side {
            let factor = if kept { matrix.get(j * side + i) / pivot } else { 0.0 };
            let mut k = i + first_col;
            while k < side {
                matrix.set(i * side + k, matrix.get(i * side + k) - factor * matrix.get(j * side + k));
                k += 32;
            }
            i += WARPS;
        }
        block_sync();
        j += 1;
    }
    let mut i = first_row;
    while i < side {
        let pivot = matrix.get(i * side + i);
        let kept = pivot > least.get(i) && pivot < f64::INFINITY;
        let root = if kept { 1.0 / sqrt_f64(pivot) } else { 0.0 };
        warp_sync(FULL); // every lane has read the pivot
        let mut k = first_col;
        while k < side {
            let is_upper = k >= i && kept;
            matrix.set(i * side + k, if is_upper { root * matrix.get(i * side + k) } else { 0.0 });
            k += 32;
        }
        i += WARPS;
    }
    block_sync();
}

/// The two rows that meet as pair `pair` of round `round` among `players`, an even number.
///
/// The last player may be no row.
#[inline(always)]
fn meeting(players: u32, round: u32, pair: u32) -> (u32, u32) {
    let others = players - 1;
    let (up, down) = (round + pair, round + others - pair);
    let wrap = |place: u32| if place >= others { place - others } else { place };
    let (a, b) = (if pair == 0 { others } else { wrap(up) }, wrap(down));
    if a < b { (a, b) } else { (b, a) }
}

/// Sine and cosine of the rotation that makes rows p and q orthogonal.
///
/// They follow from the lanes' parts of `[p p, q q, p q]`. `None` for rows that are orthogonal.
#[inline(always)]
fn rotation(parts: [f64; 3]) -> Option<(f64, f64)> {
    let pp = f64::from_bits(reduce(parts[0].to_bits(), add));
    let qq = f64::from_bits(reduce(parts[1].to_bits(), add));
    let pq = f64::from_bits(reduce(parts[2].to_bits(), add));
    let turns = pq.abs() > ORTHOGONAL * sqrt_f64(pp * qq); // false for NaN
    if !turns {
        return None;
    }
    let zeta = (qq - pp) / (2.0 * pq);
    let size = 1.0 / (zeta.abs() + sqrt_f64(1.0 + zeta * zeta));
    let tangent = if zeta < 0.0 { -size } else { size };
    let cosine = 1.0 / sqrt_f64(1.0 + tangent * tangent);
    Some((cosine * tangent, cosine))
}

/// A matrix whose rows can be rotated.
trait Rows: Square {
    /// Makes two rows orthogonal; whether they were not.
    ///
    /// All lanes of a warp call it, with the same rows; none is touched unless `live`.
    unsafe fn rotate(self, side: u32, p: u32, q: u32, live: bool) -> bool;
}

/// Each lane reads its elements once.
impl Rows for SharedSlice<f64> {
    #[inline(always)]
    unsafe fn rotate(self, side: u32, p: u32, q: u32, live: bool) -> bool {
        let (mut x, mut y) = ([0.0f64; PER_LANE], [0.0f64; PER_LANE]);
        let mut sums = [0.0f64; 3];
        unroll!(I in 0..3 => {
            let (i, place) = (I as usize, lane() + 32 * I);
            if live && place < side {
                (x[i], y[i]) = (self.get(p * side + place), self.get(q * side + place));
            }
            sums[0] += x[i] * x[i];
            sums[1] += y[i] * y[i];
            sums[2] += x[i] * y[i];
        });
        let Some((sine, cosine)) = rotation(sums) else { return false };
        unroll!(I in 0..3 => {
            let (i, place) = (I as usize, lane() + 32 * I);
            if place < side {
                self.set(p * side + place, cosine * x[i] - sine * y[i]);
                self.set(q * side + place, sine * x[i] + cosine * y[i]);
            }
        });
        true
    }
}

/// Rows that are too long for registers.
///
/// Each lane reads its elements for the products and again for the rotation.
impl Rows for *mut f64 {
    #[inline(always)]
    unsafe fn rotate(self, side: u32, p: u32, q: u32, live: bool) -> bool {
        let (p, q) = (p * side, q * side);
        let mut sums = [0.0f64; 3];
        let mut place = lane();
        while live && place < side {
            let (x, y) = (self.get(p + place), self.get(q + place));
            sums = [sums[0] + x * x, sums[1] + y * y, sums[2] + x * y];
            place += 32;
        }
        let Some((sine, cosine)) = rotation(sums) else { return false };
        let mut place = lane();
        while place < side {
            let (x, y) = (self.get(p + place), self.get(q + place));
            self.set(p + place, cosine * x - sine * y);
            self.set(q + place, sine * x + cosine * y);
            place += 32;
        }
        true
    }
}

/// The results of a decomposition.
#[derive(Clone, Copy)]
struct Results {
    vectors: *mut f64,
    inverse: *mut f64,
    sigma: *mut f32,
    rank: *mut u32,
}

/// Writes eigenvectors and singular values.
#[inline(always)]
unsafe fn decompose(
    p: JacobiParams,
    gram: *const f64,
    peak: *const u32,
    results: Results,
    lengths: SharedSlice<f64>,
    order: SharedSlice<u32>,
    matrix: impl Rows,
) {
    let (side, kept) = (p.side as u32, p.kept as u32);
    for i in block_stride(side * side) {
        matrix.set(i, *gram.add(i as usize));
    }
    for i in block_stride(side) {
        lengths.set(i, least_pivot(p.side, *gram.add((i * side + i) as usize)));
    }
    block_sync();
    factor(side, lengths, matrix);

    let players = side.next_multiple_of(2);
    let mut sweep = 0;
    while sweep < MOST_SWEEPS {
        let (mut turned, mut round) = (false, 1);
        while round < players {
            let mut first = 0;
            while first < players / 2 {
                let pair = first + warp();
                let (a, b) = meeting(players, round - 1, u32::min(pair, players / 2 - 1));
                turned |= matrix.rotate(side, a, b, pair < players / 2 && b < side);
                first += WARPS;
            }
            block_sync();
            round += 1;
        }
        if !block_any(turned) {
            break;
        }
        sweep += 1;
    }

    let mut first = 0;
    while first < side {
        let row = first + warp();
        let mut square = 0.0f64;
        let mut place = lane();
        while row < side && place < side {
            let x = matrix.get(row * side + place);
            square += x * x;
            place += 32;
        }
        let square = f64::from_bits(reduce(square.to_bits(), add));
        if row < side && lane() == 0 {
            lengths.set(row, if square < f64::INFINITY { sqrt_f64(square) } else { 0.0 });
        }
        first += WARPS;
    }
    block_sync();
    for i in block_stride(side) {
        let (own, mut place, mut j) = (lengths.get(i), 0, 0);
        while j < side {
            let other = lengths.get(j);
            place += u32::from(other > own || (other == own && j < i));
            j += 1;
        }
        order.set(place, i);
    }
    block_sync();

    let scale = if peak.is_null() { 1.0 } else { power_of_two(scale_exponent(*peak)) };
    let least = if side > 0 { LEAST_SIGMA * lengths.get(order.get(0)) } else { 0.0 };
    let counts = |length: f64| length > least && (length * scale) as f32 > 0.0;
    for i in block_stride(side * kept) {
        assert_unchecked(kept != 0);
        let (element, column) = (i / kept, i % kept);
        let row = order.get(column);
        let length = lengths.get(row);
        let (mut unit, mut divided) = (0.0, 0.0);
        if counts(length) {
            unit = matrix.get(row * side + element) / length;
            divided = unit / length;
        }
        *results.vectors.add(i as usize) = unit * scale;
        *results.inverse.add(i as usize) = divided;
    }
    for column in block_stride(kept) {
        let length = lengths.get(order.get(column));
        *results.sigma.add(column as usize) = if counts(length) { (length * scale) as f32 } else { 0.0 };
    }
    if tid_x() == 0 {
        let (mut count, mut column) = (0, 0);
        while column < kept {
            count += u32::from(counts(lengths.get(order.get(column))));
            column += 1;
        }
        *results.rank = count;
    }
}

/// Writes and declares a kernel for matrices of at most `$rows` rows.
macro_rules! kernels {
    ($name:ident, $rows:literal: $factor:expr, $lengths:ident, $order:ident, shared $shared:expr $(, $matrix:ident)?) => {
        #[doc = concat!("Eigenvectors of a matrix of at most ", $rows, " rows.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $name(
            p: JacobiParams,
            gram: *const f64,
            peak: *const u32,
            $($matrix: *mut f64,)?
            vectors: *mut f64,
            inverse: *mut f64,
            sigma: *mut f32,
            rank: *mut u32,
        ) {
            let results = Results { vectors, inverse, sigma, rank };
            decompose(p, gram, peak, results, $lengths.slice(), $order.slice(), $factor);
        }

        kernel_table! { $name: block [THREADS, 1, 1], min_blocks 1, shared $shared, barriers 7; }
    };
}

kernels!(factor_jacobi, 96: MATRIX.slice(), LENGTHS, ORDER, shared UpTo(MATRIX.end().bytes()));
kernels!(factor_jacobi_wide, 1024: matrix, WIDE_LENGTHS, WIDE_ORDER, shared Bytes(WIDE_ORDER.end().bytes()), matrix);
