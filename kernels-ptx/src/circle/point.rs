//! Evaluation of polynomials at a point over the secure field.
//!
//! The basis value of coefficient `k` is the product of the factors of the bits of `k`. A thread
//! owns the lowest eight bits, a table in shared memory the next eight, the block the others.
//!
//! # Safety
//! Buffers have the lengths given by the parameters; block: 256 threads; grid: any for the factors,
//! one block per sample and range for the ranges, one per sample for the sums.

use core_types::{
    circle::double_x,
    field::{M31, QM31},
    params::circle::{CirclePointRangeParams, CircleSampleAt},
};

use crate::dev::{
    idx::{bid_x, bid_y, block_stride, grid_stride, lane, tid_x, warp as warp_index},
    memory::smem::{Layout, Region, SharedSlice},
    sync::block_sync,
    unroll::unroll,
    warp,
};

const THREADS: u32 = 256;
const LOG_THREADS: u32 = 8;

const FACTORS: Region<QM31> = Layout::new().array(CirclePointRangeParams::FACTORS as u32);
const MIDDLE: Region<QM31> = FACTORS.end().array(THREADS);
const SUMS: Region<QM31> = MIDDLE.end().array(THREADS / 32);
const ONLY_SUMS: Region<QM31> = Layout::new().array(THREADS / 32);

/// Shared memory of a block of `circle_point_ranges`.
pub(super) const SHARED_BYTES: u32 = SUMS.end().bytes();

/// Shared memory of a block of `circle_point_sums`.
pub(super) const SUM_BYTES: u32 = ONLY_SUMS.end().bytes();

/// Writes the factors of each bit of an index for each of `len` points, given by x and y.
///
/// One thread for each point.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn circle_point_factors(points: *const QM31, factors: *mut QM31, len: u64) {
    for point in grid_stride(len) {
        let factors = factors.add(point as usize * CirclePointRangeParams::FACTORS);
        let mut x = *points.add(2 * point as usize);
        *factors = *points.add(2 * point as usize + 1);
        let mut bit = 1;
        while bit < CirclePointRangeParams::FACTORS {
            *factors.add(bit) = x;
            x = double_x(x);
            bit += 1;
        }
    }
}

/// Evaluates range `r` of sample `s` into `sums[s * ranges + r]`.
///
/// If it is the only range, it goes into the sample's own place. Grid: samples by ranges, so that
/// samples of one column find their common coefficients in cache.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn circle_point_ranges(
    samples: *const CircleSampleAt,
    coefficients: *const M31,
    all_factors: *const QM31,
    sums: *mut QM31,
    params: CirclePointRangeParams,
) {
    let CirclePointRangeParams { log_size, log_range } = params;
    let (factors, middle) = (FACTORS.slice(), MIDDLE.slice());
    let sample = *samples.add(bid_x() as usize);
    if tid_x() < CirclePointRangeParams::FACTORS as u32 {
        let own = all_factors.add(sample.point as usize * CirclePointRangeParams::FACTORS);
        factors.set(tid_x(), *own.add(tid_x() as usize));
    }
    block_sync();
    // Threads without coefficients need no factors: a short column has coefficients for a warp or less.
    let log_low = log_range.min(LOG_THREADS);
    let (threads, count) = (1 << log_low, 1 << (log_range - log_low));
    if tid_x() < count {
        middle.set(tid_x(), product(factors, LOG_THREADS, log_range - log_low, tid_x()));
    }
    block_sync();

    let mut sum = QM31::ZERO;
    if tid_x() < threads {
        let range = coefficients.add(sample.first as usize).add((bid_y() as usize) << log_range);
        let mine = range.add(tid_x() as usize);
        let mut j = 0;
        while j < count {
            let (mut words, mut values) = ([M31::ZERO; 4], [QM31::ZERO; 4]);
            unroll!(I in 0..4 => {
                if j + I < count {
                    words[I as usize] = *mine.add((j + I) as usize * THREADS as usize);
                    values[I as usize] = middle.get(j + I);
                }
            });
            sum += QM31::sum_of_scaled(words, values);
            j += 4;
        }
        sum *= product(factors, 0, log_low, tid_x());
    }
    let sum = block_sum(sum, SUMS.slice());
    if tid_x() == 0 {
        let log_ranges = log_size - log_range;
        let place =
            if log_ranges == 0 { sample.value as usize } else { ((bid_x() as usize) << log_ranges) + bid_y() as usize };
        *sums.add(place) = sum * product(factors, log_range, log_ranges, bid_y());
    }
}

/// Adds the `len` sums of each sample into its place among the values. Grid: samples.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn circle_point_sums(
    samples: *const CircleSampleAt,
    sums: *const QM31,
    values: *mut QM31,
    len: u32,
) {
    let mine = sums.add(bid_x() as usize * len as usize);
    let mut sum = QM31::ZERO;
    for i in block_stride(len) {
        sum += *mine.add(i as usize);
    }
    let sum = block_sum(sum, ONLY_SUMS.slice());
    if tid_x() == 0 {
        let value = (*samples.add(bid_x() as usize)).value;
        *values.add(value as usize) = sum;
    }
}

/// The product of the factors of the set bits among the lowest `count` of `bits`.
///
/// Bit 0 has factor `first`.
#[inline(always)]
unsafe fn product(factors: SharedSlice<QM31>, first: u32, count: u32, bits: u32) -> QM31 {
    let mut product = QM31::ONE;
    let mut i = 0;
    while i < count {
        if bits >> i & 1 == 1 {
            product *= factors.get(first + i);
        }
        i += 1;
    }
    product
}

/// The sum over the threads of a block, valid in thread 0.
#[inline(always)]
unsafe fn block_sum(sum: QM31, sums: SharedSlice<QM31>) -> QM31 {
    let sum = warp::reduce(sum, |a, b| a + b);
    if lane() == 0 {
        sums.set(warp_index(), sum);
    }
    block_sync();
    let mut total = QM31::ZERO;
    if tid_x() == 0 {
        for i in 0..THREADS / 32 {
            total += sums.get(i);
        }
    }
    total
}

kernel_table! {
    circle_point_factors: block [256, 1, 1], min_blocks 4, shared None, barriers 0;
    circle_point_ranges: block [256, 1, 1], min_blocks 4, shared Bytes(SHARED_BYTES), barriers 3;
    circle_point_sums: block [256, 1, 1], min_blocks 4, shared Bytes(SUM_BYTES), barriers 1;
}
