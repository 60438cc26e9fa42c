//! Softmax along any axis, layer norm and RMS norm along rows, and all their gradients.

use backend_api::{
    BackendError, Buffer, BufferMut, BufferRef, Queue, Real,
    ops::linalg::{
        AddLayerNorm, LayerNorm, LayerNormBackward, RmsNorm, RmsNormBackward, RowMask, Softmax, SoftmaxBackward,
    },
};
use core_types::params::{
    elementwise::SumParams,
    rows::{NORM_BLOCK_ROWS, NormParams},
};

use super::sum::pitched_columns;
use crate::{
    CudaMut, CudaQueue, CudaRef,
    checked::RowOps,
    ops::family::{KernelFamily, RowGroup, aligned, family, index_bound},
};

const SOFTMAX: [KernelFamily; 3] =
    [family!("linalg_softmax_held"), family!("linalg_softmax_warp"), family!("linalg_softmax_block")];
const SOFTMAX_COLUMNS: KernelFamily = family!("linalg_softmax_columns");
const SOFTMAX_BACKWARD: [KernelFamily; 3] = [
    family!("linalg_softmax_backward_held"),
    family!("linalg_softmax_backward_warp"),
    family!("linalg_softmax_backward_block"),
];
const SOFTMAX_BACKWARD_COLUMNS: KernelFamily = family!("linalg_softmax_backward_columns");
const NORM: [KernelFamily; 3] =
    [family!("linalg_norm_held"), family!("linalg_norm_warp"), family!("linalg_norm_block")];
const NORM_SUM: [KernelFamily; 3] =
    [family!("linalg_norm_sum_held"), family!("linalg_norm_sum_warp"), family!("linalg_norm_sum_block")];
const NORM_BACKWARD: [KernelFamily; 3] =
    [family!("linalg_norm_backward_held"), family!("linalg_norm_backward_warp"), family!("linalg_norm_backward_block")];
const NORM_PARAMETERS: KernelFamily = family!("linalg_norm_parameters");

/// Columns of a block of softmax along another axis than the last.
const SOFTMAX_COLUMNS_PER_BLOCK: u64 = 32;
/// Columns of a block that sums the gradients of the parameters of a norm.
const NORM_COLUMNS_PER_BLOCK: u64 = 256;

impl RowOps for CudaQueue {
    fn softmax<T: Real>(&self, op: Softmax<'_, Self, T>) -> Result<(), BackendError> {
        let Softmax { params: p, kind, x, mask, y } = op;
        if y.is_empty() {
            return Ok(());
        }
        index_bound("softmax", p.axis.len)?;
        let x = x.unwrap_or_else(|| y.as_ref());
        let (causal, keep, addend) = match mask {
            RowMask::None => (false, None, None),
            RowMask::Causal => (true, None, None),
            RowMask::Keep(keep) => (false, Some(keep), None),
            RowMask::Additive(addend) => (false, None, Some(addend)),
        };
        let launch = if p.axis.inner > 1 {
            let blocks = (p.axis.outer * p.axis.inner).div_ceil(SOFTMAX_COLUMNS_PER_BLOCK);
            self.kernel(SOFTMAX_COLUMNS.of::<T>())?.blocks(blocks)
        } else {
            let plain = keep.is_none() && addend.is_none();
            let group = RowGroup::new(p.axis.len, plain && aligned(x) && aligned(y.as_ref()));
            self.kernel(group.of(SOFTMAX).of::<T>())?.grid(group.grid(p.axis.outer))
        };
        let launch = launch.value("p", p).value("kind", &kind).value("causal", &u32::from(causal)).input("x", x);
        let launch = launch.input_if("keep", keep).input_if("addend", addend).output("y", &y);
        // SAFETY: the op has checked that x, y and the mask have the sizes of `p` and that the period is not zero. No axis
        // is empty, since y is not, and the kernels of rows run if `inner` is 1. `y` may be `x`.
        unsafe { launch.launch() }
    }

    fn softmax_backward<T: Real>(&self, op: SoftmaxBackward<'_, Self, T>) -> Result<(), BackendError> {
        let SoftmaxBackward { params: p, kind, y, g, dx } = op;
        if dx.is_empty() {
            return Ok(());
        }
        index_bound("softmax_backward", p.len)?;
        let launch = if p.inner > 1 {
            let blocks = (p.outer * p.inner).div_ceil(SOFTMAX_COLUMNS_PER_BLOCK);
            self.kernel(SOFTMAX_BACKWARD_COLUMNS.of::<T>())?.blocks(blocks)
        } else {
            let group = RowGroup::new(p.len, aligned(y) && aligned(g) && aligned(dx.as_ref()));
            self.kernel(group.of(SOFTMAX_BACKWARD).of::<T>())?.grid(group.grid(p.outer))
        };
        let launch = launch.value("p", p).value("kind", &kind).input("y", y).input("g", g).output("dx", &dx);
        // SAFETY: the op has checked that y, g and dx have the size of `p`. No axis is empty, since dx is not, and the
        // kernels of rows run if `inner` is 1.
        unsafe { launch.launch() }
    }

    fn layer_norm<T: Real>(&self, op: LayerNorm<'_, Self, T>) -> Result<(), BackendError> {
        let LayerNorm { params, x, gamma, beta, y, stats } = op;
        let (mean, rstd) = stats.split_at(params.rows as usize)?;
        norm(self, "layer_norm", params, NormForward { x, added: None, gamma, beta, y, mean: Some(mean), rstd })
    }

    fn add_layer_norm<T: Real>(&self, op: AddLayerNorm<'_, Self, T>) -> Result<(), BackendError> {
        let AddLayerNorm { params, x, r, gamma, beta, sum, y, stats } = op;
        let (mean, rstd) = stats.split_at(params.rows as usize)?;
        let (x, added) = (Some(x), Some((r, sum)));
        norm(self, "add_layer_norm", params, NormForward { x, added, gamma, beta, y, mean: Some(mean), rstd })
    }

    fn layer_norm_backward<T: Real>(&self, op: LayerNormBackward<'_, Self, T>) -> Result<(), BackendError> {
        let LayerNormBackward { params, x, gamma, stats, g, dx, dgamma, dbeta } = op;
        let (mean, rstd) = stats.split_at(params.rows as usize)?;
        let mut offsets = self.alloc(params.rows as usize)?;
        let views = NormBackward { x, gamma, mean: Some(mean), rstd, g, offsets: Some(offsets.view_mut()) };
        norm_backward(self, params, &views, &dx, [dgamma, dbeta])
    }

    fn rms_norm<T: Real>(&self, op: RmsNorm<'_, Self, T>) -> Result<(), BackendError> {
        let RmsNorm { params, x, gamma, y, rstd } = op;
        norm(self, "rms_norm", params, NormForward { x, added: None, gamma, beta: None, y, mean: None, rstd })
    }

    fn rms_norm_backward<T: Real>(&self, op: RmsNormBackward<'_, Self, T>) -> Result<(), BackendError> {
        let RmsNormBackward { params, x, gamma, rstd, g, dx, dgamma } = op;
        let views = NormBackward { x, gamma, mean: None, rstd, g, offsets: None };
        norm_backward(self, params, &views, &dx, [dgamma, None])
    }
}

/// The views of a forward pass; RMS norm has neither `beta` nor `mean`.
#[derive(Debug)]
struct NormForward<'a, T> {
    /// The rows; without them, the rows in `y`.
    x: Option<CudaRef<'a, T>>,
    /// The term added to x before that, and the destination of the sum.
    added: Option<(CudaRef<'a, T>, CudaMut<'a, T>)>,
    gamma: Option<CudaRef<'a, T>>,
    beta: Option<CudaRef<'a, T>>,
    y: CudaMut<'a, T>,
    mean: Option<CudaMut<'a, f32>>,
    rstd: CudaMut<'a, f32>,
}

/// The views of a backward pass; RMS norm has neither `mean` nor `offsets`.
#[derive(Debug)]
struct NormBackward<'a, T> {
    x: CudaRef<'a, T>,
    gamma: Option<CudaRef<'a, T>>,
    mean: Option<CudaRef<'a, f32>>,
    rstd: CudaRef<'a, f32>,
    g: CudaRef<'a, T>,
    /// One value a row, from the first kernel to the second.
    offsets: Option<CudaMut<'a, f32>>,
}

/// The record in words of eight bytes, its padding zero. Hosts of GPUs are little-endian.
fn words(p: &NormParams) -> [u64; 3] {
    [p.rows, p.len, p.eps.to_bits().into()]
}

const _: () = assert!(size_of::<NormParams>() == size_of::<[u64; 3]>());

/// Computes layer norm, or RMS norm without `beta` and `mean`, for `op`.
///
/// The op has checked the lengths.
fn norm<T: Real>(
    queue: &CudaQueue,
    op: &'static str,
    p: &NormParams,
    views: NormForward<'_, T>,
) -> Result<(), BackendError> {
    let NormForward { x, added, gamma, beta, y, mean, rstd } = views;
    if y.is_empty() {
        return Ok(());
    }
    index_bound(op, p.len)?;
    let x = x.unwrap_or_else(|| y.as_ref());

    // Without eps, the kernel lowers the status to the first row whose result is undefined.
    let mut status = if p.eps > 0.0 { None } else { Some(queue.upload(&[u64::MAX])?) };
    let lowered = status.as_mut().map(|status| status.view_mut());
    let columns_aligned = [gamma, beta].into_iter().flatten().all(aligned);
    let sums_aligned = added.as_ref().is_none_or(|(r, sum)| aligned(*r) && aligned(sum.as_ref()));
    let group = RowGroup::new(p.len, aligned(x) && columns_aligned && sums_aligned && aligned(y.as_ref()));
    let family = group.of(if added.is_some() { NORM_SUM } else { NORM });
    let launch = queue.kernel(family.of::<T>())?.grid(group.grid(p.rows));
    let launch = launch.value("p", &words(p)).input("x", x);
    let launch = match &added {
        Some((r, sum)) => launch.input("r", *r).output("sum", sum),
        None => launch,
    };
    let launch = launch.input_if("gamma", gamma).input_if("beta", beta);
    let launch = launch.output("y", &y).output_if("mean", mean.as_ref()).output("rstd", &rstd);
    let launch = launch.output_if("status", lowered.as_ref());
    // SAFETY: the op has checked that x, y, r and sum have `p.rows p.len` elements, gamma and beta `p.len`, mean and
    // rstd `p.rows`; no row is empty, since y is not. The status is one word. Without a sum, y may be x.
    unsafe { launch.launch() }?;

    let Some(status) = status else { return Ok(()) };
    match queue.read(status.view())?.first() {
        None | Some(&u64::MAX) => Ok(()),
        Some(&row) => {
            let index = row as usize;
            let why = if mean.is_some() { "the variance and eps are zero" } else { "the mean square and eps are zero" };
            Err(BackendError::Undefined { op, index, why })
        }
    }
}

/// Computes the gradients of layer norm: `dx`, and dgamma and dbeta in `parameters`.
///
/// Without `mean`, `offsets` and the second of `parameters`, they are the gradients of RMS norm.
/// The op has checked the lengths.
fn norm_backward<T: Real>(
    queue: &CudaQueue,
    p: &NormParams,
    views: &NormBackward<'_, T>,
    dx: &CudaMut<'_, T>,
    parameters: [Option<CudaMut<'_, T>>; 2],
) -> Result<(), BackendError> {
    let &NormBackward { x, gamma, mean, rstd, g, ref offsets } = views;
    if x.is_empty() {
        return parameters.into_iter().flatten().try_for_each(|sums| queue.clear(sums));
    }
    index_bound("layer_norm_backward", p.len)?;

    // dx, and the offsets of layer norm.
    let gamma_aligned = gamma.is_none_or(aligned);
    let group = RowGroup::new(p.len, aligned(x) && gamma_aligned && aligned(g) && aligned(dx.as_ref()));
    let launch = queue.kernel(group.of(NORM_BACKWARD).of::<T>())?.grid(group.grid(p.rows));
    let launch = launch.value("p", &words(p)).input("x", x).input_if("gamma", gamma).input_if("mean", mean);
    let launch = launch.input("rstd", rstd).input("g", g).output("dx", dx).output_if("offsets", offsets.as_ref());
    // SAFETY: the op has checked that x, g and dx have `p.rows p.len` elements, gamma `p.len`, mean and rstd `p.rows`,
    // and made offsets as long; no row is empty, since x is not.
    unsafe { launch.launch() }?;
    if parameters.iter().all(Option::is_none) {
        return Ok(());
    }

    // The sums of dgamma, and dbeta for layer norm, over each block of rows, and then over all of them.
    let blocks = p.rows.div_ceil(NORM_BLOCK_ROWS as u64);
    let width = if mean.is_some() { 2 * p.len } else { p.len };
    let mut sums = queue.alloc::<f32>((blocks * width) as usize)?;
    let grid = [p.len.div_ceil(NORM_COLUMNS_PER_BLOCK) * blocks, 1, 1];
    let launch = queue.kernel(NORM_PARAMETERS.of::<T>())?.grid(grid).value("p", &words(p));
    let launch = launch.input("x", x).input_if("mean", mean).input("rstd", rstd).input("g", g);
    let launch = launch.output_if("offsets", offsets.as_ref()).output("sums", &sums.view_mut());
    // SAFETY: the op has checked that x and g have `p.rows p.len` elements and mean and rstd `p.rows`, and made offsets
    // as long; `sums` holds `p.len` floats, for layer norm `2 p.len`, for each block of rows.
    unsafe { launch.launch() }?;
    let totals = SumParams { outer: 1, len: blocks, inner: p.len, accumulate: 0 };
    for (first, out) in [0, p.len as usize].into_iter().zip(parameters) {
        if let Some(out) = out {
            pitched_columns(queue, &totals, width, sums.slice(first..sums.len())?, &out)?;
        }
    }
    Ok(())
}
