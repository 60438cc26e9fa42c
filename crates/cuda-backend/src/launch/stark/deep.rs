//! Launches of the kernels of the op sets deep and fri.
//!
//! Lists that ops have on the host come as they are in device memory.

use backend_api::{
    BackendError, BufferRef as _, ops::deep::DeepLines, ops::deep::DeepQuotients, ops::fri::FriLastLayer,
};
use core_types::{
    field::{M31, QM31, Twiddle},
    params::{
        deep::{DeepBatch, DeepNumeratorsParams, DeepTerm, PointAt},
        fri::FriFoldLayers,
    },
};

use crate::{CudaMut, CudaQueue, CudaRef, launch::builder::Launch};

/// Positions of a block that makes numerators or quotients.
const POSITIONS: u64 = 1024;

/// Configures one thread for each of `count` items.
///
/// There are at most the threads that the device holds at once: they stride over the grid.
fn cover(launch: Launch<'_>, count: u64) -> Launch<'_> {
    let blocks = count.div_ceil(launch.block()[0].into()).min(launch.at_once());
    launch.grid([blocks, 1, 1])
}

pub(crate) fn points(
    queue: &CudaQueue,
    points_at: CudaRef<'_, PointAt>,
    parameter: CudaRef<'_, QM31>,
    points: &CudaMut<'_, QM31>,
) -> Result<(), BackendError> {
    let count = points_at.len() as u32; // the op has checked that `u32` counts them
    let launch = cover(queue.kernel("deep_points")?, count.into());
    let launch = launch.input("points_at", points_at).input("parameter", parameter).output("points", points);
    // SAFETY: `DeepPoints::check` verified that `parameter` is one element and that `points` are
    // two for each entry of the list.
    unsafe { launch.value("count", &count).launch() }
}

pub(crate) fn lines(
    queue: &CudaQueue,
    op: &DeepLines<'_, CudaQueue>,
    terms: CudaRef<'_, DeepTerm>,
    batches: CudaRef<'_, DeepBatch>,
) -> Result<(), BackendError> {
    let launch = queue.kernel("deep_lines")?.grid([batches.len() as u64, 1, 1]);
    let launch = launch
        .input("terms", terms)
        .input("batches", batches)
        .input("points", op.points)
        .input("sampled", op.sampled)
        .input("powers", op.powers)
        .output("factors", &op.factors)
        .output("lines", &op.lines);
    // SAFETY: `DeepLines::check` verified all lengths, and that the indices of terms and batches are in range.
    unsafe { launch.launch() }
}

/// Computes the numerators of all terms.
///
/// `firsts` are the first words of the columns of all terms, and no batch has more than `most`
/// terms.
pub(crate) fn numerators(
    queue: &CudaQueue,
    params: &DeepNumeratorsParams,
    firsts: CudaRef<'_, u64>,
    (batches, most): (CudaRef<'_, DeepBatch>, u32),
    values: CudaRef<'_, M31>,
    factors: CudaRef<'_, QM31>,
    numerators: &CudaMut<'_, M31>,
) -> Result<(), BackendError> {
    let blocks = (1u64 << params.log_size).div_ceil(POSITIONS) * batches.len() as u64;
    let launch = queue.kernel("deep_numerators")?.grid([blocks, 1, 1]);
    let launch = launch
        .input("firsts", firsts)
        .input("batches", batches)
        .input("values", values)
        .input("factors", factors)
        .output("numerators", numerators)
        .value("params", params)
        .value("most", &most);
    // SAFETY: `DeepNumerators::check` verified all lengths, that the batches' terms are in range,
    // and that the columns of these terms lie in `values`.
    unsafe { launch.launch() }
}

pub(crate) fn quotients(
    queue: &CudaQueue,
    op: &DeepQuotients<'_, CudaQueue>,
    batches: CudaRef<'_, DeepBatch>,
) -> Result<(), BackendError> {
    let blocks = (1u64 << op.params.log_size).div_ceil(POSITIONS);
    let count = batches.len() as u32; // the op has checked that `u32` counts them
    let launch = queue.kernel("deep_quotients")?.grid([blocks, 1, 1]);
    let launch = launch
        .input("batches", batches)
        .input("points", op.points)
        .input("lines", op.lines)
        .input("numerators", op.numerators)
        .output("quotients", &op.quotients);
    let launch = launch.value("params", op.params).value("count", &count);
    // SAFETY: `DeepQuotients::check` verified all lengths, and that the batches' points are in range.
    unsafe { launch.launch() }
}

/// One to three folds, of planes of `2^params.log_size` words.
pub(crate) fn fold(
    queue: &CudaQueue,
    params: &FriFoldLayers,
    folds: u32,
    (twiddles, challenge): (CudaRef<'_, Twiddle>, CudaRef<'_, QM31>),
    values: CudaRef<'_, M31>,
    folded: &CudaMut<'_, M31>,
) -> Result<(), BackendError> {
    let kernel = ["deep_fold_once", "deep_fold_twice", "deep_fold_thrice"][folds as usize - 1];
    let launch = cover(queue.kernel(kernel)?, 1 << (params.log_size - folds));
    let launch = launch
        .input("twiddles", twiddles)
        .input("challenge", challenge)
        .input("values", values)
        .output("folded", folded)
        .value("params", params);
    // SAFETY: `FriFold::check` verified all lengths; the op gives scratch of theirs in between.
    unsafe { launch.launch() }
}

/// `scratch` is as long as the values.
pub(crate) fn last_layer(
    queue: &CudaQueue,
    op: &FriLastLayer<'_, CudaQueue>,
    scratch: &CudaMut<'_, M31>,
) -> Result<(), BackendError> {
    let launch = queue.kernel("deep_last_layer")?.grid([1, 1, 1]);
    let launch = launch
        .input("twiddles", op.inverse_twiddles)
        .input("values", op.values)
        .output("scratch", scratch)
        .output("coefficients", &op.coefficients)
        .output("excess", &op.excess)
        .value("params", op.params);
    // SAFETY: `FriLastLayer::check` verified all lengths.
    unsafe { launch.launch() }
}
