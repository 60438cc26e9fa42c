//! Matrix products: the tiles that take a product, and the parts that its sums are cut into.

use backend_api::{BackendError, Buffer, Queue, Real, ops::linalg::Gemm};

use crate::checked::GemmOps;
use core_types::params::gemm::{BATCH_AXES, GemmParams, MatrixStrides};

use super::index_bound;
use crate::{
    CudaMut, CudaQueue, CudaRef,
    launch::linalg::gemm::{self, GemmOperands, Tiling},
};

/// From this many tiles of 128 x 128 on, they keep a card busier than smaller tiles do.
const LARGE_TILES: u64 = 96;
/// Blocks below which k is cut into parts.
const BUSY_BLOCKS: u64 = 128;
/// Least indices of a part of k, and its granularity: the depth of a tile.
const LEAST_PART: u64 = 256;
const DEPTH: u64 = 32;
/// Most parts of k that are to keep a card busy.
const MOST_PARTS: u64 = 16;
/// Length of k from which chains of sums are kept short.
///
/// The rounding errors of terms of one sign add up.
const LONG: u64 = 8192;
/// Most indices of such a chain, where there is room for the sums of all parts.
const LONGEST_CHAIN: u64 = 512;
/// Most parts of k for their sake, and most sums that parts leave then.
const MOST_CHAINS: u64 = 1 << 12;
const MOST_SUMS: u64 = 1 << 22;

impl GemmOps for CudaQueue {
    fn gemm<T: Real>(&self, op: Gemm<'_, Self, T>) -> Result<(), BackendError> {
        let Gemm { params: p, a, b, bias, c } = op;
        if p.batch.contains(&0) || p.m == 0 || p.n == 0 {
            return Ok(());
        }
        let matrices = p.batch.into_iter().fold(1, u64::saturating_mul);
        for len in [p.m, p.n, p.k, matrices] {
            index_bound("gemm", len)?;
        }
        // The kernels write rows of C side by side: the product of the transposes, if its columns are contiguous.
        if p.c.row == 1 && p.c.col != 1 && bias.is_none() {
            run(self, &transposed(p), GemmOperands { a: b, b: a, bias }, &c)
        } else {
            run(self, p, GemmOperands { a, b, bias }, &c)
        }
    }
}

/// Runs a product in which nothing but k may be empty.
fn run<'a, T: Real>(
    queue: &'a CudaQueue,
    p: &GemmParams,
    factors: GemmOperands<'a, T>,
    c: &CudaMut<'a, T>,
) -> Result<(), BackendError> {
    let results: u64 = p.batch.iter().zip(p.c.batch).map(|(&len, stride)| if stride == 0 { 1 } else { len }).product();
    let tiling = tiling(p, results, &factors);
    let tiles = p.m.div_ceil(tiling.size()) * p.n.div_ceil(tiling.size()) * results;
    let busy = (BUSY_BLOCKS / tiles).min(p.k / LEAST_PART).clamp(1, MOST_PARTS);
    let sums = results.saturating_mul(p.m).saturating_mul(p.n);
    let chains = if p.k < LONG { 1 } else { p.k.div_ceil(LONGEST_CHAIN).min(MOST_CHAINS).min(MOST_SUMS / sums) };
    let parts = busy.max(chains);
    let part = p.k.div_ceil(parts).next_multiple_of(DEPTH).max(DEPTH);
    let parts = p.k.div_ceil(part).max(1);
    let cut = [results as u32, parts as u32, part as u32]; // below 2^31
    if parts == 1 {
        return gemm::tiles(queue, p, tiling, cut, factors, c, None);
    }
    let elements = sums as usize; // fewer than BUSY_BLOCKS tiles, or at most MOST_SUMS
    let mut work = queue.alloc::<f32>(parts as usize * elements)?;
    gemm::tiles(queue, p, tiling, cut, factors, c, Some(&work.view_mut()))?;
    gemm::join(queue, p, parts as u32, work.view(), factors.bias, elements, c)
}

/// The same product with every matrix transposed.
fn transposed(p: &GemmParams) -> GemmParams {
    let turn = |s: MatrixStrides| MatrixStrides { batch: s.batch, row: s.col, col: s.row };
    GemmParams { m: p.n, n: p.m, a: turn(p.b), b: turn(p.a), c: turn(p.c), ..*p }
}

/// The tiles for a product.
fn tiling<T: Real>(p: &GemmParams, results: u64, factors: &GemmOperands<'_, T>) -> Tiling {
    let a = transposition(p.batch, p.a, [p.m, p.k], factors.a);
    let b = transposition(p.batch, p.b, [p.k, p.n], factors.b);
    let (Some(a_transposed), Some(b_transposed)) = (a, b) else {
        return Tiling::General;
    };
    let large = p.m.div_ceil(128) * p.n.div_ceil(128) * results >= LARGE_TILES;
    Tiling::Aligned { large, a_transposed, b_transposed }
}

/// Whether the columns of a factor are contiguous, and not its rows.
///
/// `None` unless all its lines begin and end at multiples of 16 bytes.
fn transposition<T: Real>(
    batch: [u64; BATCH_AXES],
    s: MatrixStrides,
    [rows, cols]: [u64; 2],
    view: CudaRef<'_, T>,
) -> Option<bool> {
    let chunk = 16 / size_of::<T>() as u64;
    let whole = |len: u64, stride: u64| len <= 1 || stride.is_multiple_of(chunk);
    let batches = batch.iter().zip(s.batch).all(|(&len, stride)| whole(len, stride));
    if !view.region()?.address().is_multiple_of(16) || !batches {
        return None;
    }
    if s.col == 1 && cols.is_multiple_of(chunk) && whole(rows, s.row) {
        return Some(false);
    }
    (s.row == 1 && rows.is_multiple_of(chunk) && whole(cols, s.col)).then_some(true)
}
