//! Launches of the kernels for arithmetic on shares.

use backend_api::{
    BackendError, BufferRef as _,
    ops::share::{CombineBits, CombineWords, WordShape},
};
use core_types::params::share::{BitTerm, WordTerm};

use super::Launch;
use crate::{CudaQueue, CudaRef};

/// Configures one thread for each of `elements` elements.
///
/// There are at most the threads that the device holds at once: they stride over the grid. A thread
/// goes through the terms once for each of its elements.
fn cover(launch: Launch<'_>, elements: usize) -> Launch<'_> {
    let blocks = (elements as u64).div_ceil(launch.block()[0].into()).min(launch.at_once());
    launch.grid([blocks, 1, 1])
}

/// `terms` are `op`'s, in device memory.
pub(crate) fn combine_bits(
    queue: &CudaQueue,
    op: &CombineBits<'_, CudaQueue>,
    terms: CudaRef<'_, BitTerm>,
) -> Result<(), BackendError> {
    let launch = cover(queue.kernel("fss_combine_bits")?, op.params.count as usize);
    let launch = launch
        .value("params", op.params)
        .input("terms", terms)
        .input("x", op.x)
        .input("rows", op.rows)
        .output("sums", &op.sums);
    let launch = launch.value("len", &(terms.len() as u32)); // the op has checked that `u32` counts them
    // SAFETY: `CombineBits::check` verified all lengths, and that the terms' rows are in range.
    unsafe { launch.launch() }
}

/// `terms` are `op`'s, in device memory.
pub(crate) fn combine_words(
    queue: &CudaQueue,
    op: &CombineWords<'_, CudaQueue>,
    shape: &WordShape,
    terms: CudaRef<'_, WordTerm>,
) -> Result<(), BackendError> {
    let launch = cover(queue.kernel("fss_combine_words")?, shape.count);
    let launch = launch
        .value("params", op.params)
        .input("terms", terms)
        .input("x", op.x)
        .input("padded", op.padded)
        .input("rows", op.rows);
    let launch = launch.input("opened", op.opened).output("sums", &op.sums);
    let launch = launch.value("len", &(terms.len() as u32)).value("sums_of_element", &(shape.sums as u32)); // no more sums than terms
    // SAFETY: `CombineWords::check` verified all lengths, and that the terms' rows are in range.
    unsafe { launch.launch() }
}
