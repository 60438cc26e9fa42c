//! Sums over an axis, and the parts that a long axis is cut into.

use backend_api::{BackendError, Buffer, BufferMut, DType, Queue, Real};
use core_types::params::elementwise::SumParams;

use crate::{
    CudaMut, CudaQueue, CudaRef,
    ops::family::{KernelFamily, RowGroup, family, index_bound},
};

const WARP: KernelFamily = family!("linalg_sum_rows_warp");
const BLOCK: KernelFamily = family!("linalg_sum_rows_block");
const JOIN: KernelFamily = family!("linalg_sum_join");
const COLUMNS: KernelFamily = family!("linalg_sum_columns");
/// Sums of f32 columns that go to another type.
const WIDE_COLUMNS: KernelFamily =
    KernelFamily { f32: COLUMNS.f32, f16: "linalg_sum_columns_f32_f16", bf16: "linalg_sum_columns_f32_bf16" };

/// Columns of a block.
pub(in crate::ops) const COLUMNS_PER_BLOCK: u64 = 32;
/// Parts of a summed axis have at least this many elements of a row, or rows of a column.
const LEAST_PART: u64 = 256;
/// Blocks that keep any card busy.
const BUSY_BLOCKS: u64 = 512;

/// How many blocks would take a whole axis, and the least part of it that is worth one.
#[derive(Clone, Copy, Debug)]
pub(in crate::ops) struct AxisBlocks {
    blocks: u64,
    least: u64,
}

impl AxisBlocks {
    /// The blocks of contiguous rows, or of columns if `inner` exceeds 1.
    pub(in crate::ops) fn of(outer: u64, inner: u64) -> Self {
        if inner > 1 { Self::columns(outer, inner) } else { Self { blocks: outer, least: 64 * LEAST_PART } }
    }

    fn columns(outer: u64, inner: u64) -> Self {
        Self { blocks: outer * inner.div_ceil(COLUMNS_PER_BLOCK), least: LEAST_PART }
    }
}

/// How a summed axis is cut.
#[derive(Clone, Copy, Debug)]
pub(in crate::ops) struct SumCut {
    /// Number of parts, at least 1.
    pub(in crate::ops) parts: u32,
    /// Elements of every part but the last, which may have fewer.
    pub(in crate::ops) part_len: u32,
}

impl SumCut {
    /// Cuts an axis of `len` elements into parts.
    pub(in crate::ops) fn new(op: &'static str, len: u64, of: AxisBlocks) -> Result<Self, BackendError> {
        let parts = (BUSY_BLOCKS / of.blocks).min(len / of.least).max(1);
        let part_len = len.div_ceil(parts).next_multiple_of(4).max(4);
        let part_len = index_bound(op, part_len)?;
        Ok(Self { parts: len.div_ceil(part_len.into()).max(1) as u32, part_len })
    }
}

/// Sums an axis of `x` into `y`.
pub(super) fn axis<T: Real>(
    queue: &CudaQueue,
    p: &SumParams,
    x: CudaRef<'_, T>,
    y: &CudaMut<'_, T>,
) -> Result<(), BackendError> {
    if y.is_empty() {
        return Ok(());
    }
    if p.inner > 1 {
        return pitched_columns(queue, p, p.inner, x, y);
    }
    let cut = SumCut::new("sum_axis", p.len, AxisBlocks::of(p.outer, 1))?;
    if cut.parts == 1 {
        return rows(queue, p, cut, x, y, None);
    }
    let mut parts = queue.alloc(cut.parts as usize * y.len())?;
    rows(queue, p, cut, x, y, Some(&parts.view_mut()))?;
    join(queue, p, cut.parts, parts.view(), y)
}

/// Sums columns of rows that lie `pitch` elements apart.
///
/// y has an element for each outer index and column.
pub(super) fn pitched_columns<X: Real, Y: Real>(
    queue: &CudaQueue,
    p: &SumParams,
    pitch: u64,
    x: CudaRef<'_, X>,
    y: &CudaMut<'_, Y>,
) -> Result<(), BackendError> {
    let cut = SumCut::new("sum_axis", p.len, AxisBlocks::columns(p.outer, p.inner))?;
    if cut.parts == 1 {
        return columns(queue, p, cut, pitch, x, y, None);
    }
    let mut parts = queue.alloc(cut.parts as usize * y.len())?;
    columns(queue, p, cut, pitch, x, y, Some(&parts.view_mut()))?;
    join(queue, p, cut.parts, parts.view(), y)
}

/// Sums rows (`inner = 1`), into y, or part by part into `parts`.
pub(in crate::ops) fn rows<T: Real>(
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
    // SAFETY: the op has checked that x and y have the sizes of `p`, and the caller made `parts`, given with several
    // parts, as long as all their sums.
    unsafe { launch.launch() }
}

/// Sums columns of rows that lie `pitch` elements apart.
///
/// The sums go to y, or part by part to `parts`. X is Y or f32.
pub(in crate::ops) fn columns<X: Real, Y: Real>(
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
    // SAFETY: the op has checked that x reaches the last column of the last row and that y has the size of `p`; the
    // caller made `parts`, given with several parts, as long as all their sums.
    unsafe { launch.launch() }
}

/// Adds the sums of `count` parts.
fn join<T: Real>(
    queue: &CudaQueue,
    p: &SumParams,
    count: u32,
    parts: CudaRef<'_, f64>,
    y: &CudaMut<'_, T>,
) -> Result<(), BackendError> {
    let launch = queue.kernel(JOIN.of::<T>())?.cover_striding(y.len() as u64);
    let launch = launch.value("p", &words(p)).value("count", &count).input("parts", parts).output("y", y);
    // SAFETY: `parts` hold `count` sums for each element of y, which has the size of `p`.
    unsafe { launch.launch() }
}

/// The record in words of eight bytes, its padding zero. Hosts of GPUs are little-endian.
fn words(p: &SumParams) -> [u64; 4] {
    [p.outer, p.len, p.inner, p.accumulate.into()]
}

const _: () = assert!(size_of::<SumParams>() == size_of::<[u64; 4]>());

#[cfg(test)]
mod tests {
    use cuda_sim::driver::simulate;

    use super::*;
    use crate::CudaConfig;

    #[test]
    fn sums_of_rows_are_added_once_to_the_output() {
        let _machine = simulate("checks=sanitize").unwrap();
        let queue = CudaQueue::open(CudaConfig::default()).unwrap();
        // By warps, by blocks, and in two parts.
        for (outer, len) in [(3, 5), (2, 5000), (1, 33_000)] {
            let values: Vec<f32> = (0..outer * len).map(|i| (i % 7) as f32).collect();
            let x = queue.upload(&values).unwrap();
            let mut y = queue.upload(&vec![100.0f32; outer]).unwrap();
            let params = SumParams { outer: outer as u64, len: len as u64, inner: 1, accumulate: 1 };
            axis(&queue, &params, x.view(), &y.view_mut()).unwrap();
            let sums: Vec<f32> = values.chunks(len).map(|row| 100.0 + row.iter().sum::<f32>()).collect();
            assert_eq!(queue.download(&y).unwrap(), sums, "{outer} {len}");
        }
    }

    #[test]
    fn long_axes_are_cut_until_the_blocks_keep_a_card_busy() {
        for ([outer, len, inner], parts, part_len) in [
            // Rows: a block takes a whole row, and a part has 16384 elements or more.
            ([1, 0, 1], 1, 4),
            ([1, 5, 1], 1, 8),
            ([1, 32_767, 1], 1, 32_768),
            ([1, 32_768, 1], 2, 16_384),
            ([1, 32_770, 1], 2, 16_388),
            ([512, 1 << 20, 1], 1, 1 << 20),
            ([256, 1 << 20, 1], 2, 1 << 19),
            ([257, 1 << 20, 1], 1, 1 << 20),
            ([1, 1 << 24, 1], 512, 1 << 15),
            // Columns, 32 to a block: a part has 256 rows or more.
            ([1, 511, 2], 1, 512),
            ([1, 512, 2], 2, 256),
            ([3, 1 << 16, 33], 85, 772),
            ([3, 1 << 16, 32], 169, 388),
        ] {
            let cut = SumCut::new("sum_axis", len, AxisBlocks::of(outer, inner)).unwrap();
            assert_eq!((cut.parts, cut.part_len), (parts, part_len), "{outer} {len} {inner}");
        }
        let of = |len| SumCut::new("sum_axis", len, AxisBlocks::of(512, 1)).map(|cut| cut.part_len);
        assert_eq!(of((1 << 31) - 4), Ok((1 << 31) - 4));
        let why = "expected fewer than 2^31 elements along an axis";
        assert_eq!(of((1 << 31) - 3), Err(BackendError::Unsupported { op: "sum_axis", why }));
    }
}
