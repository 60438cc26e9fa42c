//! Launches of the factor kernels.

use backend_api::{
    BackendError, BufferMut as _, BufferRef as _,
    ops::factor::{
        CholInverse, CompleteColumns, JacobiEigen, MatrixPeak, OrientColumns, ScaleColumns, SignSketch, TallGram,
        TallProduct,
    },
};
use core_types::params::factor::SHARED_SIDE;

use crate::{CudaMut, CudaQueue, CudaRef, launch::builder::Launch};

/// Rows and columns of a tile.
const TILE: u64 = 32;
/// Doubles that `inverse` keeps before its matrix.
const INVERSE_BYTES: u64 = 8 * SHARED_SIDE;
/// Doubles and words that `jacobi` keeps before its matrix.
const JACOBI_BYTES: u64 = 12 * SHARED_SIDE;

/// Covers `threads` with no more blocks than the device holds at once.
fn strided(launch: Launch<'_>, threads: u64) -> Launch<'_> {
    let blocks = threads.div_ceil(u64::from(launch.block()[0])).min(launch.at_once());
    launch.grid([blocks, 1, 1])
}

/// Shared bytes of a small matrix of `side` rows after `before` bytes.
fn shared(before: u64, side: u64) -> u32 {
    (before + 8 * side * side) as u32 // at most 96 rows
}

/// `op.peak` is zero.
pub(crate) fn peak(queue: &CudaQueue, op: &MatrixPeak<'_, CudaQueue>) -> Result<(), BackendError> {
    let len = op.a.len() as u64;
    let launch = strided(queue.kernel("factor_peak")?, len).input("a", op.a);
    let launch = launch.value("len", &len).output("peak", &op.peak);
    // SAFETY: `MatrixPeak::check` verified that the peak is one word; `len` is the number of elements.
    unsafe { launch.launch() }
}

pub(crate) fn sketch(queue: &CudaQueue, op: &SignSketch<'_, CudaQueue>) -> Result<(), BackendError> {
    let len = op.omega.len() as u64;
    let launch = strided(queue.kernel("factor_sketch")?, len.div_ceil(4)).value("seed", &op.params.seed);
    let launch = launch.value("len", &len).input("peak", op.peak).output("omega", &op.omega);
    // SAFETY: `SignSketch::check` verified that the peak is one word; `len` is the number of signs.
    unsafe { launch.launch() }
}

/// The sums of parts of `part_rows` rows, a multiple of 32, which go to `parts`.
pub(crate) fn gram(
    queue: &CudaQueue,
    op: &TallGram<'_, CudaQueue>,
    part_rows: u32,
    parts: &CudaMut<'_, f64>,
) -> Result<(), BackendError> {
    let tiles = op.params.cols.div_ceil(TILE);
    let grid = [op.params.rows.div_ceil(part_rows.into()), tiles * (tiles + 1) / 2, 1];
    let launch = queue.kernel("factor_gram")?.grid(grid).value("p", op.params);
    let launch = launch.value("part_rows", &part_rows).input("x", op.x).output("parts", parts);
    // SAFETY: `TallGram::check` verified the shape of X, fewer than 2^31 rows and at most 1024
    // columns; the op has made `parts` hold a square for each part.
    unsafe { launch.launch() }
}

/// Adds the squares of `count` parts.
pub(crate) fn gram_join(
    queue: &CudaQueue,
    cols: u32,
    count: u32,
    parts: CudaRef<'_, f64>,
    gram: &CudaMut<'_, f64>,
) -> Result<(), BackendError> {
    let launch = strided(queue.kernel("factor_gram_join")?, u64::from(cols) * u64::from(cols));
    let launch = launch.value("cols", &cols).value("count", &count).input("parts", parts).output("gram", gram);
    // SAFETY: the op has made `parts` hold `count` squares of `cols` columns, and checked that `gram` is one.
    unsafe { launch.launch() }
}

pub(crate) fn product(queue: &CudaQueue, op: &TallProduct<'_, CudaQueue>) -> Result<(), BackendError> {
    let grid = [op.params.rows.div_ceil(TILE), op.params.cols.div_ceil(TILE), 1];
    let launch = queue.kernel("factor_product")?.grid(grid).value("p", op.params);
    let launch = launch.input("x", op.x).input("c", op.c).output("y", &op.y);
    // SAFETY: `TallProduct::check` verified all shapes, and that there are fewer than 2^31 rows.
    unsafe { launch.launch() }
}

pub(crate) fn inverse(queue: &CudaQueue, op: &CholInverse<'_, CudaQueue>) -> Result<(), BackendError> {
    let side = op.side as u32; // at most 1024
    let launch = if u64::from(side) <= SHARED_SIDE {
        queue.kernel("factor_inverse")?.dynamic_shared(shared(INVERSE_BYTES, side.into()))
    } else {
        queue.kernel("factor_inverse_wide")?
    };
    let launch = launch.value("side", &side).input("gram", op.gram).input_if("peak", op.peak);
    let launch = launch.output("inverse", &op.inverse);
    // SAFETY: `CholInverse::check` verified that both matrices have `side` rows and columns, at
    // most 1024, and that the peak is one word; for at most 96 the block has the shared memory that
    // the kernel needs.
    unsafe { launch.launch() }
}

/// `matrix` has the elements of G, if G is too large for shared memory.
pub(crate) fn jacobi(
    queue: &CudaQueue,
    op: &JacobiEigen<'_, CudaQueue>,
    matrix: Option<&CudaMut<'_, f64>>,
) -> Result<(), BackendError> {
    let launch = match matrix {
        None => queue.kernel("factor_jacobi")?.dynamic_shared(shared(JACOBI_BYTES, op.params.side)),
        Some(_) => queue.kernel("factor_jacobi_wide")?,
    };
    let launch = launch.value("p", op.params).input("gram", op.gram).input_if("peak", op.peak);
    let launch = if let Some(matrix) = matrix { launch.output("matrix", matrix) } else { launch };
    let launch = launch.output("vectors", &op.vectors).output("inverse", &op.inverse);
    let launch = launch.output("sigma", &op.sigma).output("rank", &op.rank);
    // SAFETY: `JacobiEigen::check` verified all shapes, at most 1024 rows, and that the scalars are
    // single words; the block has the shared memory that the kernel needs for at most 96 rows, and
    // for more the op has made `matrix` as long as G.
    unsafe { launch.launch() }
}

/// `products` has a double for each column.
pub(crate) fn complete(
    queue: &CudaQueue,
    op: &CompleteColumns<'_, CudaQueue>,
    products: &CudaMut<'_, f64>,
) -> Result<(), BackendError> {
    let launch = queue.kernel("factor_complete")?.value("p", op.params).input("rank", op.rank);
    let launch = launch.output("products", products).output("x", &op.x);
    // SAFETY: `CompleteColumns::check` verified the shape of X, with no more columns than rows and
    // fewer than 2^31 rows, and that the rank is one word; the op has made `products` as long as a
    // row.
    unsafe { launch.launch() }
}

pub(crate) fn orient(queue: &CudaQueue, op: &OrientColumns<'_, CudaQueue>) -> Result<(), BackendError> {
    let launch = queue.kernel("factor_orient")?.grid([op.params.cols, 1, 1]).value("p", op.params);
    let launch = launch.output("u", &op.u).output("v", &op.v);
    // SAFETY: `OrientColumns::check` verified both shapes, and that there are fewer than 2^31 rows.
    unsafe { launch.launch() }
}

pub(crate) fn scale(queue: &CudaQueue, op: &ScaleColumns<'_, CudaQueue>) -> Result<(), BackendError> {
    let launch = strided(queue.kernel("factor_scale")?, op.y.len() as u64).value("p", &op.params.matrix);
    let launch = launch.value("alpha", &op.params.alpha).input("x", op.x).input("factors", op.factors);
    let launch = launch.output("y", &op.y);
    // SAFETY: `ScaleColumns::check` verified that x and y have the shape and that there is a factor
    // for each column; without a column there is no block.
    unsafe { launch.launch() }
}
