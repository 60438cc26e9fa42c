//! Lines through claimed values, one warp per batch.
//!
//! # Safety
//! `terms` and `factors` have an element for each term of the batches, `batches` one for each
//! block; `points` and `lines` are pairs. All indices in terms and batches are in range. Grid:
//! batches; block: 32 threads.

use core_types::{
    field::QM31,
    params::deep::{DeepBatch, DeepTerm},
};

use crate::dev::{
    idx::{bid_x, block_stride, lane},
    warp,
};

/// Writes the factor of each term of the block's batch.
///
/// Also writes the sums of slopes and of constants.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn deep_lines(
    terms: *const DeepTerm,
    batches: *const DeepBatch,
    points: *const QM31,
    sampled: *const QM31,
    powers: *const QM31,
    factors: *mut QM31,
    lines: *mut QM31,
) {
    let DeepBatch { first, count, point, .. } = *batches.add(bid_x() as usize);
    let y = *points.add(2 * point as usize + 1);
    let distance = y.conjugate() - y;
    let (mut slopes, mut constants) = (QM31::ZERO, QM31::ZERO);
    for i in block_stride(count) {
        let at = first as usize + i as usize;
        let DeepTerm { value, power, .. } = *terms.add(at);
        let (value, power) = (*sampled.add(value as usize), *powers.add(power as usize));
        let slope = value.conjugate() - value;
        slopes += slope * power;
        constants += (value * distance - slope * y) * power;
        *factors.add(at) = distance * power;
    }
    let (slopes, constants) = (warp::reduce(slopes, |a, b| a + b), warp::reduce(constants, |a, b| a + b));
    if lane() == 0 {
        let line = lines.add(2 * bid_x() as usize);
        *line = slopes;
        *line.add(1) = constants;
    }
}

kernel_table! {
    deep_lines: block [32, 1, 1], min_blocks 8, shared None, barriers 0;
}
