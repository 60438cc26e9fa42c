//! Matrix products.

use backend_api::{BackendError, Real};
use core_types::params::gemm::{GemmParams, GemmShare};

use super::{KernelFamily, family};
use crate::{CudaMut, CudaQueue, CudaRef};

const GENERAL: KernelFamily = family!("linalg_gemm_general");
const JOIN: KernelFamily = family!("linalg_gemm_join");

/// Most results in one launch.
const MOST_RESULTS: u64 = 65_535;

/// The tiles of the kernel that takes a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tiling {
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
    pub(crate) fn size(self) -> u64 {
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
pub(crate) struct GemmOperands<'a, T> {
    pub(crate) a: CudaRef<'a, T>,
    pub(crate) b: CudaRef<'a, T>,
    pub(crate) bias: Option<CudaRef<'a, T>>,
}

/// Launches all tiles of `results` results, in `parts` parts along k.
///
/// A part has `part` indices, and its sums go to `work` if that is given.
pub(crate) fn tiles<'a, T: Real>(
    queue: &'a CudaQueue,
    p: &GemmParams,
    tiling: Tiling,
    [results, parts, part]: [u32; 3],
    factors: GemmOperands<'a, T>,
    c: &CudaMut<'a, T>,
    work: Option<&CudaMut<'a, f32>>,
) -> Result<(), BackendError> {
    let tiles = p.m.div_ceil(tiling.size()) * p.n.div_ceil(tiling.size());
    let kernel = tiling.family().of::<T>();
    for first in (0..results).step_by(MOST_RESULTS as usize) {
        let matrices = u64::from(results - first).min(MOST_RESULTS);
        let launch = queue.kernel(kernel)?.grid([tiles, parts.into(), matrices]);
        let launch = launch.value("p", p).value("share", &GemmShare { first_result: first, part });
        let launch = launch.input("a", factors.a).input("b", factors.b).input_if("bias", factors.bias);
        let launch = launch.output("c", c).output_if("work", work);
        // SAFETY: the op has checked that the strides of `p` stay inside the views, that results do not overlap, that
        // the bias has n elements and that sizes are below 2^31; it took a tiling that the layouts allow, and made
        // `work` hold every part of every result, if there are several.
        unsafe { launch.launch() }?;
    }
    Ok(())
}

/// Adds the parts of all results.
pub(crate) fn join<'a, T: Real>(
    queue: &'a CudaQueue,
    p: &GemmParams,
    parts: u32,
    work: CudaRef<'a, f32>,
    bias: Option<CudaRef<'a, T>>,
    elements: usize,
    c: &CudaMut<'a, T>,
) -> Result<(), BackendError> {
    let launch = queue.kernel(JOIN.of::<T>())?.cover(elements);
    let launch = launch.value("p", p).value("parts", &parts).input("work", work).input_if("bias", bias).output("c", c);
    // SAFETY: the op has checked that the strides of `p` stay inside c and that the bias has n elements; `work` holds
    // `parts` sums for each of the elements.
    unsafe { launch.launch() }
}
