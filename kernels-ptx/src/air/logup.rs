//! Columns of look-ups.
//!
//! Fractions are divided and added up along each row, then along the rows in three launches.
//!
//! Rows come in pairs `2 i` and `2 i + 1`, and row `2 i + 1` is stored at the complement of the
//! position of row `2 i`. Warp `w` of a block adds up a part of run `w` of the rows. Runs agree but
//! for the highest bits of `i`, so that the eight warps read the same sectors of memory.
//!
//! # Safety
//! Buffers have the lengths given by the parameters, and `parts` has an element for each part of
//! one run per warp. Block: 256 threads.

use core_types::{
    circle::bit_reversed,
    field::{M31, QM31},
    params::air::LogUpColumnsParams,
};

use crate::dev::{
    idx::{bid_x, grid_stride, lane, tid_x, warp},
    memory::smem::{Layout, Region},
    sync::block_sync,
    unroll::unroll,
    warp::{FULL, reduce, shfl_idx, shfl_up},
};

const THREADS: u32 = 256;
const WARPS: u32 = THREADS / 32;
const _: () = assert!(WARPS == LogUpColumnsParams::MOST_RUNS);
const WARP_SUMS: Region<QM31> = Layout::new().array(WARPS);

/// Fractions of a row, divided and added up from the first column on.
///
/// Grid: any. One pass over fractions and columns; an inversion takes as long as forty products.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn air_logup_terms(
    fractions: *const M31,
    columns: *mut M31,
    params: LogUpColumnsParams,
) {
    let LogUpColumnsParams { log_rows, columns: count } = params;
    for position in grid_stride(1 << log_rows) {
        let mut sum = QM31::ZERO;
        let mut k = 0;
        while k < u64::from(count) {
            let numerator = read(fractions, (8 * k << log_rows) + position, log_rows);
            let denominator = read(fractions, (8 * k + 4 << log_rows) + position, log_rows);
            sum += numerator * denominator.inverse().unwrap_or(QM31::ZERO);
            write(columns, (4 * k << log_rows) + position, log_rows, sum);
            k += 1;
        }
    }
}

/// Writes the sum of each part of each run, zero for a run that is not there. Grid: parts.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn air_logup_sums(column: *const M31, parts: *mut QM31, params: LogUpColumnsParams) {
    let mut sum = QM31::ZERO;
    let mut step = 0;
    while step < LogUpColumnsParams::PART / 32 {
        let pair = Pair::new(params, step);
        let [even, odd] = pair.values(column);
        sum += even + odd;
        step += 1;
    }
    let sum = reduce(sum, |a, b| a + b);
    if lane() == 0 {
        *parts.add((warp() * params.parts() + bid_x()) as usize) = sum;
    }
}

/// Replaces the sum of each part by the sum before it, less the mean for each row before it.
///
/// It also writes the sum of all and the mean. Grid: one block.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn air_logup_totals(parts: *mut QM31, sums: *mut QM31, params: LogUpColumnsParams) {
    let warp_sums = WARP_SUMS.slice();
    let count = params.runs() * params.parts();
    let share = count.div_ceil(THREADS);
    let (first, end) = ((tid_x() * share).min(count), (tid_x() * share + share).min(count));
    let mut own = QM31::ZERO;
    let mut part = first;
    while part < end {
        own += *parts.add(part as usize);
        part += 1;
    }
    let up_to = warp_scan(own);
    if lane() == 31 {
        warp_sums.set(warp(), up_to);
    }
    block_sync();
    let (mut before, mut total) = (up_to - own, QM31::ZERO);
    unroll!(W in 0..8 => {
        let sum = warp_sums.get(W);
        total += sum;
        if W < warp() {
            before += sum;
        }
    });
    let mean = QM31::from_coordinates(total.coordinates().map(|word| word.div_power_of_two(params.log_rows)));
    if tid_x() == 0 {
        *sums = total;
        *sums.add(1) = mean;
    }
    let rows = 2 * params.pairs().min(LogUpColumnsParams::PART);
    let mut part = first;
    while part < end {
        let place = parts.add(part as usize);
        let sum = *place;
        *place = before - mean.scale(M31::from_u32(part * rows));
        before += sum;
        part += 1;
    }
}

/// Replaces each row by the sum up to it, less the mean for each row. Grid: parts.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn air_logup_rows(
    column: *mut M31,
    parts: *const QM31,
    sums: *const QM31,
    params: LogUpColumnsParams,
) {
    let mean = *sums.add(1);
    let mut before = *parts.add((warp() * params.parts() + bid_x()) as usize);
    let mut step = 0;
    while step < LogUpColumnsParams::PART / 32 {
        let pair = Pair::new(params, step);
        let [even, odd] = pair.values(column);
        let own = even + odd - (mean + mean);
        let up_to = before + warp_scan(own);
        if pair.valid {
            write(column, pair.position.into(), params.log_rows, up_to - odd + mean);
            write(column, (pair.position ^ pair.mask).into(), params.log_rows, up_to);
        }
        before = shfl_idx(FULL, up_to, 31);
        step += 1;
    }
}

/// Two rows that follow each other.
#[derive(Clone, Copy)]
struct Pair {
    /// Whether the run has this pair.
    valid: bool,
    /// The position of the first row.
    position: u32,
    /// The bits in which the position of the second row differs.
    mask: u32,
    log_rows: u32,
}

impl Pair {
    /// The pair of this lane in step `step` of the warp's part.
    #[inline(always)]
    fn new(params: LogUpColumnsParams, step: u32) -> Self {
        let (log_rows, pairs) = (params.log_rows, params.pairs());
        let at = bid_x() * LogUpColumnsParams::PART + 32 * step + lane();
        let valid = at < pairs && warp() < params.runs();
        let index = if valid { warp() * pairs + at } else { 0 };
        Self { valid, position: bit_reversed(index, log_rows), mask: (1 << log_rows) - 1, log_rows }
    }

    /// The two values, or zeros.
    #[inline(always)]
    unsafe fn values(self, column: *const M31) -> [QM31; 2] {
        if self.valid {
            let odd = self.position ^ self.mask;
            [read(column, self.position.into(), self.log_rows), read(column, odd.into(), self.log_rows)]
        } else {
            [QM31::ZERO; 2]
        }
    }
}

/// The element whose first coordinate is at `index`.
#[inline(always)]
unsafe fn read(planes: *const M31, index: u64, log_len: u32) -> QM31 {
    let mut words = [M31::ZERO; 4];
    unroll!(C in 0..4 => {
        words[C as usize] = *planes.add((index + (u64::from(C) << log_len)) as usize);
    });
    QM31::from_coordinates(words)
}

#[inline(always)]
unsafe fn write(planes: *mut M31, index: u64, log_len: u32, value: QM31) {
    let words = value.coordinates();
    unroll!(C in 0..4 => {
        *planes.add((index + (u64::from(C) << log_len)) as usize) = words[C as usize];
    });
}

/// The sums over the lanes up to each.
#[inline(always)]
fn warp_scan(mut sum: QM31) -> QM31 {
    let mut distance = 1;
    while distance < 32 {
        let below = shfl_up(FULL, sum, distance);
        if lane() >= distance {
            sum += below;
        }
        distance <<= 1;
    }
    sum
}

kernel_table! {
    air_logup_terms, air_logup_sums, air_logup_rows: block [THREADS, 1, 1], min_blocks 2, shared None, barriers 0;
    air_logup_totals: block [THREADS, 1, 1], min_blocks 1, shared Bytes(WARP_SUMS.end().bytes()), barriers 1;
}
