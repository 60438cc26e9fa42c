//! Launches of the kernels for arithmetic on shares.

use backend_api::{
    BackendError, BufferRef as _,
    ops::share::{CombineBits, CombineWords, WordShape},
};
use core_types::params::share::{BitTerm, WordTerm};

use crate::{CudaQueue, CudaRef};

/// Blocks that every multiprocessor holds at once by the bounds of registers; more elements are left to the stride.
const BUSY: usize = 8;

/// Threads for `elements` elements, no more than the device holds at once: each goes through the terms once for each of its
/// elements.
fn threads(queue: &CudaQueue, elements: usize, block: u32) -> usize {
    let busy = queue.device().info().multiprocessors as usize * BUSY * block as usize;
    elements.min(busy)
}

/// `terms` are those of `op`, in device memory.
pub(crate) fn combine_bits(
    queue: &CudaQueue,
    op: &CombineBits<'_, CudaQueue>,
    terms: CudaRef<'_, BitTerm>,
) -> Result<(), BackendError> {
    let launch = queue.kernel("fss_combine_bits")?;
    let threads = threads(queue, op.params.count as usize, launch.block()[0]);
    let launch = launch.cover(threads).value(&op.params).input(terms).input(op.x).input(op.rows).output(&op.sums);
    let launch = launch.value(&(terms.len() as u32)); // the op has checked that `u32` counts them
    // SAFETY: `CombineBits::check` has held the views to their lengths, and terms to rows that there are.
    unsafe { launch.launch() }
}

/// `terms` are those of `op`, in device memory.
pub(crate) fn combine_words(
    queue: &CudaQueue,
    op: &CombineWords<'_, CudaQueue>,
    shape: &WordShape,
    terms: CudaRef<'_, WordTerm>,
) -> Result<(), BackendError> {
    let launch = queue.kernel("fss_combine_words")?;
    let threads = threads(queue, shape.count, launch.block()[0]);
    let launch = launch.cover(threads).value(&op.params).input(terms).input(op.x).input(op.padded).input(op.rows);
    let launch = launch.input(op.opened).output(&op.sums);
    let launch = launch.value(&(terms.len() as u32)).value(&(shape.sums as u32)); // no more sums than terms
    // SAFETY: `CombineWords::check` has held the views to their lengths, and terms to rows that there are.
    unsafe { launch.launch() }
}
