//! Sums over an axis.

use backend_api::{BackendError, DType, Real};
use core_types::params::elementwise::SumParams;

use super::{KernelFamily, RowGroup, family, over_elements};
use crate::{CudaMut, CudaQueue, CudaRef};

const WARP: KernelFamily = family!("linalg_sum_rows_warp");
const BLOCK: KernelFamily = family!("linalg_sum_rows_block");
const JOIN: KernelFamily = family!("linalg_sum_join");
const COLUMNS: KernelFamily = family!("linalg_sum_columns");
/// Sums of f32 columns that go to another type.
const WIDE_COLUMNS: KernelFamily =
    KernelFamily { f32: COLUMNS.f32, f16: "linalg_sum_columns_f32_f16", bf16: "linalg_sum_columns_f32_bf16" };

/// Columns of a block.
pub(crate) const COLUMNS_PER_BLOCK: u64 = 32;

/// How a summed axis is cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SumCut {
    /// Number of parts, at least 1.
    pub(crate) parts: u32,
    /// Elements of every part but the last, which may have fewer.
    pub(crate) part_len: u32,
}

/// Sums rows (`inner = 1`), into y, or part by part into `parts`.
pub(crate) fn rows<T: Real>(
    queue: &CudaQueue,
    p: &SumParams,
    cut: SumCut,
    x: CudaRef<'_, T>,
    y: &CudaMut<'_, T>,
    parts: Option<&CudaMut<'_, f64>>,
) -> Result<(), BackendError> {
    let group = RowGroup::new(cut.part_len.into(), false);
    let family = if group == RowGroup::Block { BLOCK } else { WARP };
    let [blocks, ..] = group.grid(p.outer);
    let launch = queue.kernel(family.of::<T>())?.grid([blocks, cut.parts.into(), 1]);
    let launch = launch.value("p", &words(p)).value("part_len", &cut.part_len);
    let launch = launch.input("x", x).output("y", y).output_if("parts", parts);
    // SAFETY: the op has checked that x and y have the sizes of `p`, and made `parts` as long as the sums of all parts,
    // if there are several.
    unsafe { launch.launch() }
}

/// Sums columns of rows that lie `pitch` elements apart.
///
/// The sums go to y, or part by part to `parts`. X is Y or f32.
pub(crate) fn columns<X: Real, Y: Real>(
    queue: &CudaQueue,
    p: &SumParams,
    cut: SumCut,
    pitch: u64,
    x: CudaRef<'_, X>,
    y: &CudaMut<'_, Y>,
    parts: Option<&CudaMut<'_, f64>>,
) -> Result<(), BackendError> {
    let family = if X::DTYPE == DType::F32 { WIDE_COLUMNS } else { COLUMNS };
    let blocks = p.inner.div_ceil(COLUMNS_PER_BLOCK) * p.outer;
    let launch = queue.kernel(family.of::<Y>())?.grid([blocks, cut.parts.into(), 1]);
    let launch = launch.value("p", &words(p)).value("part_len", &cut.part_len).value("pitch", &pitch);
    let launch = launch.input("x", x).output("y", y).output_if("parts", parts);
    // SAFETY: the op has checked that x reaches the last column of the last row, that y has the size of `p`, and made
    // `parts` as long as the sums of all parts, if there are several.
    unsafe { launch.launch() }
}

/// Adds the sums of `count` parts.
pub(crate) fn join<T: Real>(
    queue: &CudaQueue,
    p: &SumParams,
    count: u32,
    parts: CudaRef<'_, f64>,
    y: &CudaMut<'_, T>,
) -> Result<(), BackendError> {
    let outputs = (p.outer * p.inner) as usize;
    let launch = over_elements(queue.kernel(JOIN.of::<T>())?, 4 * outputs);
    let launch = launch.value("p", &words(p)).value("count", &count).input("parts", parts).output("y", y);
    // SAFETY: the op has made `parts` hold `count` sums for each element of y, which has the size of `p`.
    unsafe { launch.launch() }
}

/// The record in words of eight bytes, its padding zero. Hosts of GPUs are little-endian.
fn words(p: &SumParams) -> [u64; 4] {
    [p.outer, p.len, p.inner, p.accumulate.into()]
}

const _: () = assert!(size_of::<SumParams>() == size_of::<[u64; 4]>());
