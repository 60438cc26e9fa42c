//! Launches of the circle kernels.

use backend_api::{BackendError, BufferMut, BufferRef};
use core_types::{
    field::{M31, QM31, Twiddle},
    params::circle::{
        CirclePointRangeParams, CircleRestrictParams, CircleSampleAt, CircleSmallParams, CircleStripParams,
        CircleTileParams, CircleTwiddleParams,
    },
};

use crate::{CudaMut, CudaQueue, CudaRef, launch::builder::Launch};

const LOG_TILE: u32 = CircleTileParams::LOG_TILE;

/// Maximum blocks along x of a kernel with a grid-stride loop.
const MOST_STRIDING: u64 = 1 << 16;

/// Elements that a thread of an inverting kernel takes.
const M31_PER_THREAD: u64 = 8;
const QM31_PER_THREAD: u64 = 4;

/// One thread for each of `count` items, or a stride where that would be many blocks.
fn striding(launch: Launch<'_>, count: u64) -> Launch<'_> {
    let blocks = count.div_ceil(u64::from(launch.block()[0])).min(MOST_STRIDING);
    launch.grid([blocks, 1, 1])
}

/// Tiles of a column, or pairs of them, by groups of columns.
fn tiles<'a>(launch: Launch<'a>, p: &CircleTileParams) -> Launch<'a> {
    let column = if p.log_size < LOG_TILE { p.words } else { 1 << p.log_size };
    let groups = p.columns.div_ceil(p.columns_per_block);
    launch.grid([column.div_ceil(1 << p.layers.max(LOG_TILE)), groups.into(), 1])
}

/// Tiles or pairs of them, which have kernels of their own.
fn tiles_or_pairs<'a>(
    queue: &'a CudaQueue,
    [single, pair]: [&str; 2],
    p: &CircleTileParams,
) -> Result<Launch<'a>, BackendError> {
    Ok(tiles(queue.kernel(if p.layers <= LOG_TILE { single } else { pair })?, p))
}

/// One block per strip of each column. Both sizes of a strip have kernels of their own.
fn strips<'a>(
    queue: &'a CudaQueue,
    [narrow, wide]: [&str; 2],
    p: &CircleStripParams,
    columns: u32,
) -> Result<Launch<'a>, BackendError> {
    let log_strip = p.log_rows + p.log_width;
    let kernel = if log_strip == CircleStripParams::LOG_STRIP { narrow } else { wide };
    Ok(queue.kernel(kernel)?.grid([u64::from(columns) << (p.log_size - log_strip), 1, 1]))
}

pub(crate) fn twiddles(
    queue: &CudaQueue,
    p: &CircleTwiddleParams,
    twiddles: &CudaMut<'_, Twiddle>,
    inverse_twiddles: &CudaMut<'_, Twiddle>,
) -> Result<(), BackendError> {
    let launch = striding(queue.kernel("circle_twiddles")?, 1 << (p.log_size - 1));
    let launch = launch.output("twiddles", twiddles).output("inverse_twiddles", inverse_twiddles).value("params", p);
    // SAFETY: the op has checked that the length of both views is half the number of points of the domain.
    unsafe { launch.launch() }
}

pub(crate) fn small_interpolate(
    queue: &CudaQueue,
    p: &CircleSmallParams,
    columns: &CudaMut<'_, M31>,
    twiddles: CudaRef<'_, Twiddle>,
) -> Result<(), BackendError> {
    let launch = striding(queue.kernel("circle_small_interpolate")?, p.columns.into());
    let launch = launch.output("columns", columns).input("twiddles", twiddles).value("params", p);
    // SAFETY: the op has checked that `columns` are `p.columns` of two or four words, and that
    // `twiddles` are of a domain with at least one point per word of a column.
    unsafe { launch.launch() }
}

pub(crate) fn small_evaluate(
    queue: &CudaQueue,
    p: &CircleSmallParams,
    source: CudaRef<'_, M31>,
    columns: &CudaMut<'_, M31>,
    twiddles: CudaRef<'_, Twiddle>,
) -> Result<(), BackendError> {
    let launch = striding(queue.kernel("circle_small_evaluate")?, p.columns.into());
    let launch =
        launch.input("source", source).output("columns", columns).input("twiddles", twiddles).value("params", p);
    // SAFETY: the op has checked that `source` and `columns` are `p.columns` of their sizes, and `twiddles` are those
    // of the domain; a thread reads a column before it writes it.
    unsafe { launch.launch() }
}

pub(crate) fn small_restrict(
    queue: &CudaQueue,
    p: &CircleSmallParams,
    coefficients: CudaRef<'_, M31>,
    values: &CudaMut<'_, M31>,
    [twiddles, weights]: [CudaRef<'_, Twiddle>; 2],
) -> Result<(), BackendError> {
    let launch = striding(queue.kernel("circle_small_restrict")?, p.columns.into());
    let launch = launch.input("coefficients", coefficients).output("values", values);
    let launch = launch.input("twiddles", twiddles).input("weights", weights).value("params", p);
    // SAFETY: the op has checked that `coefficients` and `values` are `p.columns` of their sizes, and `twiddles` belong
    // to the domain. It gives a weight for each part of a column.
    unsafe { launch.launch() }
}

/// The weights of the parts of a column in the values of the block.
pub(crate) fn restrict_weights(
    queue: &CudaQueue,
    p: &CircleRestrictParams,
    twiddles: CudaRef<'_, Twiddle>,
    weights: &CudaMut<'_, Twiddle>,
) -> Result<(), BackendError> {
    let launch = striding(queue.kernel("circle_restrict_weights")?, 1 << p.log_parts());
    let launch = launch.input("twiddles", twiddles).output("weights", weights).value("params", p);
    // SAFETY: the op has checked that `twiddles` belong to the domain, and gives room for a weight for each part.
    unsafe { launch.launch() }
}

pub(crate) fn tile_interpolate(
    queue: &CudaQueue,
    p: &CircleTileParams,
    columns: &CudaMut<'_, M31>,
    twiddles: CudaRef<'_, Twiddle>,
) -> Result<(), BackendError> {
    let launch = tiles_or_pairs(queue, ["circle_tile_interpolate", "circle_tile_pair_interpolate"], p)?
        .output("columns", columns)
        .input("twiddles", twiddles)
        .value("params", p);
    // SAFETY: the op has checked that `columns` are `p.words` words and that `twiddles` are of a
    // domain with at least one point per word of a column.
    unsafe { launch.launch() }
}

pub(crate) fn tile_evaluate(
    queue: &CudaQueue,
    p: &CircleTileParams,
    columns: &CudaMut<'_, M31>,
    twiddles: CudaRef<'_, Twiddle>,
) -> Result<(), BackendError> {
    let launch = tiles_or_pairs(queue, ["circle_tile_evaluate", "circle_tile_pair_evaluate"], p)?
        .output("columns", columns)
        .input("twiddles", twiddles)
        .value("params", p);
    // SAFETY: the op has checked that `columns` are `p.words` words and `twiddles` belong to the domain.
    unsafe { launch.launch() }
}

pub(crate) fn tile_extend(
    queue: &CudaQueue,
    p: &CircleTileParams,
    coefficients: CudaRef<'_, M31>,
    values: &CudaMut<'_, M31>,
    twiddles: CudaRef<'_, Twiddle>,
) -> Result<(), BackendError> {
    let launch = tiles(queue.kernel("circle_tile_extend")?, p);
    let launch = launch
        .input("coefficients", coefficients)
        .output("values", values)
        .input("twiddles", twiddles)
        .value("params", p);
    // SAFETY: the op has checked that `values` are `p.words` words, `coefficients` the same number
    // of columns of `2^p.log_source`, and `twiddles` the twiddles of the domain.
    unsafe { launch.launch() }
}

pub(crate) fn tile_restrict(
    queue: &CudaQueue,
    p: &CircleTileParams,
    coefficients: CudaRef<'_, M31>,
    values: &CudaMut<'_, M31>,
    [twiddles, weights]: [CudaRef<'_, Twiddle>; 2],
) -> Result<(), BackendError> {
    let launch = tiles(queue.kernel("circle_tile_restrict")?, p);
    let launch = launch.input("coefficients", coefficients).output("values", values);
    let launch = launch.input("twiddles", twiddles).input("weights", weights).value("params", p);
    // SAFETY: the op has checked that `values` are `p.words` words, `coefficients` the same number
    // of columns of `2^p.log_source`, and `twiddles` the twiddles of the domain. It gives a weight
    // for each part of a column.
    unsafe { launch.launch() }
}

pub(crate) fn strip_interpolate(
    queue: &CudaQueue,
    p: &CircleStripParams,
    count: u32,
    columns: &CudaMut<'_, M31>,
    twiddles: CudaRef<'_, Twiddle>,
) -> Result<(), BackendError> {
    let names = ["circle_strip_interpolate", "circle_wide_strip_interpolate"];
    let launch =
        strips(queue, names, p, count)?.output("columns", columns).input("twiddles", twiddles).value("params", p);
    // SAFETY: the op has checked that `columns` are `count` of `2^p.log_size` words, and that
    // `twiddles` are of a domain of at least `2^p.log_size` points.
    unsafe { launch.launch() }
}

pub(crate) fn strip_evaluate(
    queue: &CudaQueue,
    p: &CircleStripParams,
    count: u32,
    source: CudaRef<'_, M31>,
    columns: &CudaMut<'_, M31>,
    twiddles: CudaRef<'_, Twiddle>,
) -> Result<(), BackendError> {
    let names = ["circle_strip_evaluate", "circle_wide_strip_evaluate"];
    let launch = strips(queue, names, p, count)?
        .input("source", source)
        .output("columns", columns)
        .input("twiddles", twiddles)
        .value("params", p);
    // SAFETY: the op has checked that `columns` are `count` of the domain's size, `source` the same
    // view or `count` columns of `2^p.log_region`, and `twiddles` the twiddles of the domain; a
    // block reads its strip before it writes it.
    unsafe { launch.launch() }
}

pub(crate) fn strip_restrict(
    queue: &CudaQueue,
    p: &CircleStripParams,
    count: u32,
    coefficients: CudaRef<'_, M31>,
    values: &CudaMut<'_, M31>,
    [twiddles, weights]: [CudaRef<'_, Twiddle>; 2],
) -> Result<(), BackendError> {
    let launch = strips(queue, ["circle_strip_restrict", "circle_wide_strip_restrict"], p, count)?;
    let launch = launch.input("coefficients", coefficients).output("values", values);
    let launch = launch.input("twiddles", twiddles).input("weights", weights).value("params", p);
    // SAFETY: the op has checked that `values` are `count` columns of `2^p.log_size`,
    // `coefficients` are `count` of `2^p.log_source`, and `twiddles` the twiddles of the domain. It
    // gives a weight for each part of a column.
    unsafe { launch.launch() }
}

/// Transforms strips of `columns` back as `inverse` describes, and evaluates their copies.
///
/// The copies are written to `values`.
pub(crate) fn strip_lde(
    queue: &CudaQueue,
    [inverse, p]: [&CircleStripParams; 2],
    count: u32,
    columns: &CudaMut<'_, M31>,
    values: &CudaMut<'_, M31>,
    [inverse_twiddles, twiddles]: [CudaRef<'_, Twiddle>; 2],
) -> Result<(), BackendError> {
    let launch = strips(queue, ["circle_strip_lde", "circle_wide_strip_lde"], inverse, count)?;
    let launch = launch.output("columns", columns).output("values", values);
    let launch = launch.input("inverse_twiddles", inverse_twiddles).input("twiddles", twiddles);
    let launch = launch.value("inverse", inverse).value("params", p);
    // SAFETY: the op has checked that `columns` are `count` of `2^inverse.log_size`, `values` are
    // `count` of `2^p.log_size`, and that the twiddles belong to the two domains; a thread reads
    // back only the coefficients that it wrote itself.
    unsafe { launch.launch() }
}

/// The factors of the bits of an index at each point, `[points][30]`.
pub(crate) fn point_factors(
    queue: &CudaQueue,
    points: CudaRef<'_, QM31>,
    factors: &CudaMut<'_, QM31>,
) -> Result<(), BackendError> {
    let len = (factors.len() / CirclePointRangeParams::FACTORS) as u64;
    let launch = striding(queue.kernel("circle_point_factors")?, len);
    let launch = launch.input("points", points).output("factors", factors).value("len", &len);
    // SAFETY: `factors` are a whole number of points', and the op has given both coordinates of each.
    unsafe { launch.launch() }
}

/// Partial sums of polynomials at sampled points, `[samples][ranges]`.
///
/// If a range is a whole column, `sums` holds the final values of all samples instead.
pub(crate) fn point_ranges(
    queue: &CudaQueue,
    p: &CirclePointRangeParams,
    samples: CudaRef<'_, CircleSampleAt>,
    coefficients: CudaRef<'_, M31>,
    factors: CudaRef<'_, QM31>,
    sums: &CudaMut<'_, QM31>,
) -> Result<(), BackendError> {
    let launch = queue
        .kernel("circle_point_ranges")?
        .grid([samples.len() as u64, 1 << (p.log_size - p.log_range), 1])
        .input("samples", samples)
        .input("coefficients", coefficients)
        .input("all_factors", factors)
        .output("sums", sums)
        .value("params", p);
    // SAFETY: the op has checked that the columns of the samples, of `2^p.log_size` words, lie in `coefficients`, and that there
    // are factors for their points. It gives a place for every sum.
    unsafe { launch.launch() }
}

pub(crate) fn point_sums(
    queue: &CudaQueue,
    samples: CudaRef<'_, CircleSampleAt>,
    sums: CudaRef<'_, QM31>,
    values: &CudaMut<'_, QM31>,
    ranges: u32,
) -> Result<(), BackendError> {
    let launch = queue.kernel("circle_point_sums")?.grid([samples.len() as u64, 1, 1]);
    let launch = launch.input("samples", samples).input("sums", sums).output("values", values).value("len", &ranges);
    // SAFETY: the op gives `ranges` sums for every sample, whose places are among the values.
    unsafe { launch.launch() }
}

pub(crate) fn inverse_m31(
    queue: &CudaQueue,
    elements: CudaRef<'_, M31>,
    inverses: &CudaMut<'_, M31>,
    first_zero: &CudaMut<'_, u64>,
) -> Result<(), BackendError> {
    let launch = queue.kernel("circle_inverse_m31")?;
    let (len, per_block) = (elements.len() as u64, u64::from(launch.block()[0]) * M31_PER_THREAD);
    let launch = launch.grid([len.div_ceil(per_block), 1, 1]);
    let launch = launch
        .input("elements", elements)
        .output("inverses", inverses)
        .output("first_zero", first_zero)
        .value("len", &len);
    // SAFETY: the op has checked that both views have `len` elements, and that `first_zero` is one word.
    unsafe { launch.launch() }
}

pub(crate) fn inverse_qm31(
    queue: &CudaQueue,
    elements: CudaRef<'_, QM31>,
    inverses: &CudaMut<'_, QM31>,
    first_zero: &CudaMut<'_, u64>,
) -> Result<(), BackendError> {
    let launch = queue.kernel("circle_inverse_qm31")?;
    let (len, per_block) = (elements.len() as u64, u64::from(launch.block()[0]) * QM31_PER_THREAD);
    let launch = launch.grid([len.div_ceil(per_block), 1, 1]);
    let launch = launch
        .input("elements", elements)
        .output("inverses", inverses)
        .output("first_zero", first_zero)
        .value("len", &len);
    // SAFETY: the op has checked that both views have `len` elements, and that `first_zero` is one word.
    unsafe { launch.launch() }
}
