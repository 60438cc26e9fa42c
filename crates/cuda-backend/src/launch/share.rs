//! Launches of the kernels for arithmetic on shares.

use backend_api::{BackendError, BufferRef as _, ops::share::WordShape};
use core_types::params::share::{BitParams, BitTerm, WordParams, WordTerm};

use crate::{CudaMut, CudaQueue, CudaRef};

/// Blocks that every multiprocessor holds at once by the bounds of registers; more elements are left to the stride.
const BUSY: usize = 8;

/// Threads for `elements` elements, no more than the device holds at once: each goes through the terms once for each of its
/// elements.
fn threads(queue: &CudaQueue, elements: usize, block: u32) -> usize {
    let busy = queue.device().info().multiprocessors as usize * BUSY * block as usize;
    elements.min(busy)
}

/// Operands of a combination of words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WordRows<'a> {
    pub(crate) x: CudaRef<'a, u64>,
    pub(crate) padded: CudaRef<'a, u64>,
    pub(crate) rows: CudaRef<'a, u64>,
    pub(crate) opened: CudaRef<'a, u32>,
}

pub(crate) fn combine_bits(
    queue: &CudaQueue,
    p: &BitParams,
    terms: CudaRef<'_, BitTerm>,
    x: CudaRef<'_, u64>,
    rows: CudaRef<'_, u32>,
    sums: &CudaMut<'_, u32>,
) -> Result<(), BackendError> {
    let launch = queue.kernel("fss_combine_bits")?;
    let threads = threads(queue, p.count as usize, launch.block()[0]);
    let launch = launch.cover(threads).value(p).input(terms).input(x).input(rows).output(sums);
    let launch = launch.value(&(terms.len() as u32)); // the op has checked that `u32` counts them
    // SAFETY: the op has checked that terms name rows that there are and that views have the lengths of `BitShape`.
    unsafe { launch.launch() }
}

pub(crate) fn combine_words(
    queue: &CudaQueue,
    p: &WordParams,
    shape: &WordShape,
    terms: CudaRef<'_, WordTerm>,
    of: WordRows<'_>,
    sums: &CudaMut<'_, u64>,
) -> Result<(), BackendError> {
    let launch = queue.kernel("fss_combine_words")?;
    let threads = threads(queue, shape.count, launch.block()[0]);
    let launch = launch.cover(threads).value(p).input(terms).input(of.x).input(of.padded).input(of.rows);
    let launch = launch.input(of.opened).output(sums);
    let launch = launch.value(&(terms.len() as u32)).value(&(shape.sums as u32)); // no more sums than terms
    // SAFETY: the op has checked that terms name rows that there are and that views have the lengths of `WordShape`.
    unsafe { launch.launch() }
}
