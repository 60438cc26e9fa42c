//! Layer norm and RMS norm.

use backend_api::{BackendError, Real};
use core_types::params::rows::{NORM_BLOCK_ROWS, NormParams};

use super::{KernelFamily, RowGroup, aligned, family};
use crate::{CudaMut, CudaQueue, CudaRef};

const HELD: KernelFamily = family!("linalg_norm_held");
const WARP: KernelFamily = family!("linalg_norm_warp");
const BLOCK: KernelFamily = family!("linalg_norm_block");
const SUM_HELD: KernelFamily = family!("linalg_norm_sum_held");
const SUM_WARP: KernelFamily = family!("linalg_norm_sum_warp");
const SUM_BLOCK: KernelFamily = family!("linalg_norm_sum_block");
const BACKWARD_HELD: KernelFamily = family!("linalg_norm_backward_held");
const BACKWARD_WARP: KernelFamily = family!("linalg_norm_backward_warp");
const BACKWARD_BLOCK: KernelFamily = family!("linalg_norm_backward_block");
const PARAMETERS: KernelFamily = family!("linalg_norm_parameters");

/// Columns of a block that sums the gradients of parameters.
const COLUMNS_PER_BLOCK: u64 = 256;

/// The views of a forward pass; RMS norm has neither `beta` nor `mean`.
#[derive(Debug)]
pub(crate) struct NormForward<'a, T> {
    pub(crate) x: CudaRef<'a, T>,
    /// The term added to x before that, and the destination of the sum.
    pub(crate) added: Option<(CudaRef<'a, T>, CudaMut<'a, T>)>,
    pub(crate) gamma: Option<CudaRef<'a, T>>,
    pub(crate) beta: Option<CudaRef<'a, T>>,
    pub(crate) y: CudaMut<'a, T>,
    pub(crate) mean: Option<CudaMut<'a, f32>>,
    pub(crate) rstd: CudaMut<'a, f32>,
}

/// The views of a backward pass; RMS norm has neither `mean` nor `offsets`.
#[derive(Debug)]
pub(crate) struct NormBackward<'a, T> {
    pub(crate) x: CudaRef<'a, T>,
    pub(crate) gamma: Option<CudaRef<'a, T>>,
    pub(crate) mean: Option<CudaRef<'a, f32>>,
    pub(crate) rstd: CudaRef<'a, f32>,
    pub(crate) g: CudaRef<'a, T>,
    /// One value a row, from the first kernel to the second.
    pub(crate) offsets: Option<CudaMut<'a, f32>>,
}

/// The record in words of eight bytes, its padding zero. Hosts of GPUs are little-endian.
fn words(p: &NormParams) -> [u64; 3] {
    [p.rows, p.len, p.eps.to_bits().into()]
}

const _: () = assert!(size_of::<NormParams>() == size_of::<[u64; 3]>());

/// Lowers `status`, one word, to the first row whose result is undefined.
pub(crate) fn forward<'a, T: Real>(
    queue: &'a CudaQueue,
    p: &NormParams,
    views: &NormForward<'a, T>,
    status: Option<&CudaMut<'a, u64>>,
) -> Result<(), BackendError> {
    let NormForward { x, added, gamma, beta, y, mean, rstd } = views;
    let columns_aligned = [gamma, beta].into_iter().flatten().all(|values| aligned(*values));
    let sums_aligned = added.as_ref().is_none_or(|(r, sum)| aligned(*r) && aligned(sum.as_ref()));
    let group = RowGroup::new(p.len, aligned(*x) && columns_aligned && sums_aligned && aligned(y.as_ref()));
    let family = match (group, added) {
        (RowGroup::Held, None) => HELD,
        (RowGroup::Warp, None) => WARP,
        (RowGroup::Block, None) => BLOCK,
        (RowGroup::Held, Some(_)) => SUM_HELD,
        (RowGroup::Warp, Some(_)) => SUM_WARP,
        (RowGroup::Block, Some(_)) => SUM_BLOCK,
    };
    let launch = queue.kernel(family.of::<T>())?.grid(group.grid(p.rows));
    let launch = launch.value("p", &words(p)).input("x", *x);
    let launch = match added {
        Some((r, sum)) => launch.input("r", *r).output("sum", sum),
        None => launch,
    };
    let launch = launch.input_if("gamma", *gamma).input_if("beta", *beta);
    let launch = launch.output("y", y).output_if("mean", mean.as_ref()).output("rstd", rstd);
    let launch = launch.output_if("status", status);
    // SAFETY: the op has checked that x, y, r and sum have `p.rows p.len` elements, gamma and beta `p.len`, mean and rstd
    // `p.rows`, and that no row is empty.
    unsafe { launch.launch() }
}

/// dx, and `offsets` of layer norm.
pub(crate) fn backward<'a, T: Real>(
    queue: &'a CudaQueue,
    p: &NormParams,
    views: &NormBackward<'a, T>,
    dx: &CudaMut<'a, T>,
) -> Result<(), BackendError> {
    let NormBackward { x, gamma, mean, rstd, g, offsets } = views;
    let gamma_aligned = gamma.is_none_or(|gamma| aligned(gamma));
    let group = RowGroup::new(p.len, aligned(*x) && gamma_aligned && aligned(*g) && aligned(dx.as_ref()));
    let family = match group {
        RowGroup::Held => BACKWARD_HELD,
        RowGroup::Warp => BACKWARD_WARP,
        RowGroup::Block => BACKWARD_BLOCK,
    };
    let launch = queue.kernel(family.of::<T>())?.grid(group.grid(p.rows));
    let launch = launch.value("p", &words(p)).input("x", *x).input_if("gamma", *gamma).input_if("mean", *mean);
    let launch = launch.input("rstd", *rstd).input("g", *g).output("dx", dx).output_if("offsets", offsets.as_ref());
    // SAFETY: the op has checked that x, g and dx have `p.rows p.len` elements, gamma `p.len`, mean, rstd and offsets
    // `p.rows`, and that no row is empty.
    unsafe { launch.launch() }
}

/// The sums of dgamma, and dbeta for layer norm, over each block of rows, after [`backward`].
pub(crate) fn parameters<'a, T: Real>(
    queue: &'a CudaQueue,
    p: &NormParams,
    views: &NormBackward<'a, T>,
    sums: &CudaMut<'a, f32>,
) -> Result<(), BackendError> {
    let NormBackward { x, mean, rstd, g, offsets, .. } = views;
    let blocks = p.len.div_ceil(COLUMNS_PER_BLOCK) * p.rows.div_ceil(NORM_BLOCK_ROWS as u64);
    let launch = queue.kernel(PARAMETERS.of::<T>())?.grid([blocks, 1, 1]);
    let launch =
        launch.value("p", &words(p)).input("x", *x).input_if("mean", *mean).input("rstd", *rstd).input("g", *g);
    let launch = launch.output_if("offsets", offsets.as_ref()).output("sums", sums);
    // SAFETY: the op has checked that x and g have `p.rows p.len` elements, mean, rstd and offsets
    // `p.rows`, and made `sums` hold `p.len` floats, for layer norm `2 p.len`, for each block of
    // rows.
    unsafe { launch.launch() }
}
