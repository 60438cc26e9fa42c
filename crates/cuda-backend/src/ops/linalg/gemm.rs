//! Matrix products: the tiles that take a product, and the parts that its sums are cut into.

use backend_api::{BackendError, Buffer, Queue, Real, ops::linalg::Gemm};
use core_types::params::gemm::{BATCH_AXES, GemmParams, GemmShare, MatrixStrides};

use crate::{
    CudaMut, CudaQueue, CudaRef,
    checked::GemmOps,
    ops::family::{KernelFamily, family, index_bound},
};

const GENERAL: KernelFamily = family!("linalg_gemm_general");
const JOIN: KernelFamily = family!("linalg_gemm_join");

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

/// Most results in one launch.
const MOST_RESULTS: u64 = 65_535;

/// The tiles of the kernel that takes a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tiling {
    /// 32 x 32, for any layout.
    General,
    /// 64 x 64 or 128 x 128, for aligned factors that are contiguous along rows or columns.
    Aligned {
        /// Whether tiles are 128 x 128.
        large: bool,
        /// Whether the columns of A are contiguous, and not its rows.
        a_transposed: bool,
        /// Whether the columns of B are contiguous, and not its rows.
        b_transposed: bool,
    },
}

/// The kernels of one tile size by layout: neither factor transposed, B, A, both.
struct Layouts([KernelFamily; 4]);

macro_rules! layouts {
    ($small:literal) => {
        Layouts([
            layouts!(@ $small, "nn"),
            layouts!(@ $small, "nt"),
            layouts!(@ $small, "tn"),
            layouts!(@ $small, "tt"),
        ])
    };
    (@ $size:literal, $layout:literal) => {
        KernelFamily {
            f32: concat!("linalg_gemm_simt", $size, "_", $layout),
            f16: concat!("linalg_gemm_mma", $size, "_", $layout, "_f16"),
            bf16: concat!("linalg_gemm_mma", $size, "_", $layout, "_bf16"),
        }
    };
}

const SMALL: Layouts = layouts!("64");
const LARGE: Layouts = layouts!("128");

impl Tiling {
    /// Rows and columns of a tile.
    fn size(self) -> u64 {
        match self {
            Self::General => 32,
            Self::Aligned { large: false, .. } => 64,
            Self::Aligned { large: true, .. } => 128,
        }
    }

    fn family(self) -> KernelFamily {
        match self {
            Self::General => GENERAL,
            Self::Aligned { large, a_transposed, b_transposed } => {
                let Layouts([nn, nt, tn, tt]) = if large { LARGE } else { SMALL };
                match (a_transposed, b_transposed) {
                    (false, false) => nn,
                    (false, true) => nt,
                    (true, false) => tn,
                    (true, true) => tt,
                }
            }
        }
    }
}

/// The operands of a product.
#[derive(Clone, Copy, Debug)]
struct GemmOperands<'a, T> {
    a: CudaRef<'a, T>,
    b: CudaRef<'a, T>,
    bias: Option<CudaRef<'a, T>>,
}

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
        if is_turned(p.c) && bias.is_none() {
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
    let tiles = p.m.div_ceil(tiling.size()) * p.n.div_ceil(tiling.size());
    let sums = results.saturating_mul(p.m).saturating_mul(p.n);
    let (parts, part) = parts_of_k(p.k, tiles * results, sums);
    let elements = sums as usize; // with several parts: fewer than BUSY_BLOCKS tiles, or at most MOST_SUMS

    // The tiles of all results, for every part of k.
    let mut work = if parts == 1 { None } else { Some(queue.alloc::<f32>(parts as usize * elements)?) };
    let partial = work.as_mut().map(|work| work.view_mut());
    for first in (0..results).step_by(MOST_RESULTS as usize) {
        let matrices = (results - first).min(MOST_RESULTS);
        let share = GemmShare { first_result: first as u32, part }; // below 2^31
        let launch = queue.kernel(tiling.family().of::<T>())?.grid([tiles, parts.into(), matrices]);
        let launch = launch.value("p", p).value("share", &share);
        let launch = launch.input("a", factors.a).input("b", factors.b).input_if("bias", factors.bias);
        let launch = launch.output("c", c).output_if("work", partial.as_ref());
        // SAFETY: `Gemm::check` verified that the strides of `p` stay inside the views, that results do not overlap and
        // that the bias has n elements; the op has checked that sizes are below 2^31. `tiling` allows the layouts, and
        // `work`, given with several parts, has every part of every result.
        unsafe { launch.launch() }?;
    }

    let Some(work) = work else { return Ok(()) };
    let launch = queue.kernel(JOIN.of::<T>())?.cover(elements).value("p", p).value("parts", &parts);
    let launch = launch.input("work", work.view()).input_if("bias", factors.bias).output("c", c);
    // SAFETY: `Gemm::check` verified that the strides of `p` stay inside c and that the bias has n elements; `work`
    // holds `parts` sums for each of the elements.
    unsafe { launch.launch() }
}

/// The number of parts of `k` and the indices of each, for some tiles and `sums`.
fn parts_of_k(k: u64, tiles: u64, sums: u64) -> (u32, u32) {
    let busy = (BUSY_BLOCKS / tiles).min(k / LEAST_PART).clamp(1, MOST_PARTS);
    let chains = if k < LONG { 1 } else { k.div_ceil(LONGEST_CHAIN).min(MOST_CHAINS).min(MOST_SUMS / sums) };
    let part = k.div_ceil(busy.max(chains)).next_multiple_of(DEPTH).max(DEPTH);
    (k.div_ceil(part).max(1) as u32, part as u32) // below 2^31
}

/// Whether the columns of C are contiguous, and not its rows.
fn is_turned(c: MatrixStrides) -> bool {
    c.row == 1 && c.col != 1
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

#[cfg(test)]
mod tests {
    use core_types::params::elementwise::Activation;

    use super::*;
    use crate::rig;

    #[test]
    fn k_is_cut_where_tiles_are_few_or_chains_long() {
        for ([k, tiles, sums], expected) in [
            // The tiles keep a card busy, or k is short.
            ([4096, 128, 1 << 20], (1, 4096)),
            ([0, 1, 1], (1, 32)),
            ([511, 1, 1], (1, 512)),
            // Parts of 256 indices or more, enough to keep the blocks busy, and at most 16.
            ([512, 1, 1], (2, 256)),
            ([513, 1, 1], (2, 288)),
            ([4096, 64, 1 << 20], (2, 2048)),
            ([4096, 65, 1 << 20], (1, 4096)),
            ([8160, 1, 1], (16, 512)),
            // Chains of 512 from k = 8192 on, as long as there is room for 2^22 sums.
            ([8191, 128, 1 << 20], (1, 8192)),
            ([8192, 128, 1 << 10], (16, 512)),
            ([8192, 128, 1 << 20], (4, 2048)),
            ([1 << 22, 128, 1], (4096, 1024)),
        ] {
            assert_eq!(parts_of_k(k, tiles, sums), expected, "{k} {tiles} {sums}");
        }
    }

    const fn strides(batch: u64, row: u64, col: u64) -> MatrixStrides {
        MatrixStrides { batch: [0, 0, 0, batch], row, col }
    }

    #[test]
    fn factors_are_aligned_if_all_their_lines_are() {
        let (_machine, queue) = rig::queue(1);
        let words = queue.alloc::<f32>(64).unwrap();
        let halves = queue.alloc::<half::f16>(64).unwrap();
        // Lengths in elements: four floats are 16 bytes, and eight halves are.
        for (batch, s, sizes, of_floats, of_halves) in [
            (1, strides(0, 8, 1), [3, 8], Some(false), Some(false)),
            (1, strides(0, 1, 8), [8, 3], Some(true), Some(true)),
            (1, strides(0, 4, 1), [3, 4], Some(false), None),
            (1, strides(0, 6, 1), [3, 8], None, None),
            (1, strides(0, 1, 8), [6, 3], None, None),
            (1, strides(0, 1, 6), [8, 3], None, None),
            (1, strides(0, 8, 2), [3, 8], None, None),
            (2, strides(6, 8, 1), [3, 8], None, None),
            (1, strides(6, 8, 1), [3, 8], Some(false), Some(false)),
            (2, strides(28, 8, 1), [3, 8], Some(false), None),
            (1, strides(0, 1, 1), [1, 8], Some(false), Some(false)),
            (1, strides(0, 1, 1), [8, 1], Some(true), Some(true)),
        ] {
            let of = |at: usize| transposition([1, 1, 1, batch], s, sizes, words.slice(at..64).unwrap());
            assert_eq!((of(0), of(4), of(1), of(2)), (of_floats, of_floats, None, None), "{batch} {s:?} {sizes:?}");
            assert_eq!(transposition([1, 1, 1, batch], s, sizes, halves.view()), of_halves, "{batch} {s:?} {sizes:?}");
        }
        assert_eq!(transposition([1; 4], strides(0, 8, 1), [3, 8], words.slice(8..8).unwrap()), None);
    }

    #[test]
    fn tiles_are_large_where_enough_of_them_keep_a_card_busy() {
        let (_machine, queue) = rig::queue(1);
        let words = queue.alloc::<f32>(64).unwrap();
        let factors = GemmOperands { a: words.view(), b: words.view(), bias: None };
        let tiling = |m, n, k, results| {
            let (a, b, c) = (strides(0, k, 1), strides(0, n, 1), strides(0, n, 1));
            let (batch, activation) = ([1; 4], Activation::Identity);
            let p = GemmParams { batch, m, n, k, a, b, c, accumulate: 0, activation, alpha: 1.0, reserved: 0 };
            tiling(&p, results, &factors)
        };
        let aligned = |large| Tiling::Aligned { large, a_transposed: false, b_transposed: false };
        for (m, n, k, results, expected) in [
            (128, 128, 8, 95, aligned(false)),
            (128, 128, 8, 96, aligned(true)),
            (129, 132, 8, 24, aligned(true)),
            (128, 516, 8, 20, aligned(true)),
            (129, 128, 8, 47, aligned(false)),
            (129, 128, 8, 48, aligned(true)),
            (128, 128, 6, 96, Tiling::General),
            (128, 126, 8, 96, Tiling::General),
        ] {
            assert_eq!(tiling(m, n, k, results), expected, "{m} {n} {k} {results}");
        }
        for (row, col, turned) in [(1, 8, true), (8, 1, false), (1, 1, false), (2, 8, false)] {
            assert_eq!(is_turned(strides(0, row, col)), turned, "{row} {col}");
        }
    }
}
