//! Softmax along any axis, layer norm and RMS norm along rows, and all three gradients.

use backend_api::{
    BackendError, Buffer, BufferMut, BufferRef, Queue, Real,
    ops::linalg::{
        AddLayerNorm, LayerNorm, LayerNormBackward, LogSoftmax, LogSoftmaxBackward, RmsNorm, RmsNormBackward, RowMask,
        Softmax, SoftmaxBackward,
    },
};

use crate::checked::RowOps;
use core_types::params::{
    elementwise::SumParams,
    rows::{AxisParams, NORM_BLOCK_ROWS, NormParams, SoftmaxParams},
};

use super::{elementwise::sum_columns, index_bound};
use crate::{
    CudaBuf, CudaMut, CudaQueue, CudaRef,
    launch::linalg::{
        norm::{self, NormBackward, NormForward},
        softmax::{self, MaskViews, SoftmaxKind},
    },
};

impl RowOps for CudaQueue {
    fn softmax<T: Real>(&self, op: Softmax<'_, Self, T>) -> Result<(), BackendError> {
        softmax(self, SoftmaxKind::Softmax, op.params, op.x, op.mask, &op.y)
    }

    fn log_softmax<T: Real>(&self, op: LogSoftmax<'_, Self, T>) -> Result<(), BackendError> {
        softmax(self, SoftmaxKind::Log, op.params, op.x, op.mask, &op.y)
    }

    fn softmax_backward<T: Real>(&self, op: SoftmaxBackward<'_, Self, T>) -> Result<(), BackendError> {
        softmax_gradient(self, SoftmaxKind::Softmax, op.params, op.y, op.g, &op.dx)
    }

    fn log_softmax_backward<T: Real>(&self, op: LogSoftmaxBackward<'_, Self, T>) -> Result<(), BackendError> {
        softmax_gradient(self, SoftmaxKind::Log, op.params, op.y, op.g, &op.dx)
    }

    fn layer_norm<T: Real>(&self, op: LayerNorm<'_, Self, T>) -> Result<(), BackendError> {
        let LayerNorm { params, x, gamma, beta, y, stats } = op;
        let (mean, rstd) = stats.split_at(params.rows as usize)?;
        norm(self, "layer_norm", params, NormForward { x, added: None, gamma, beta, y, mean: Some(mean), rstd })
    }

    fn add_layer_norm<T: Real>(&self, op: AddLayerNorm<'_, Self, T>) -> Result<(), BackendError> {
        let AddLayerNorm { params, x, r, gamma, beta, sum, y, stats } = op;
        let (mean, rstd) = stats.split_at(params.rows as usize)?;
        let added = Some((r, sum));
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

/// The op has checked lengths and period.
fn softmax<T: Real>(
    queue: &CudaQueue,
    kind: SoftmaxKind,
    p: &SoftmaxParams,
    x: CudaRef<'_, T>,
    mask: RowMask<'_, CudaQueue>,
    y: &CudaMut<'_, T>,
) -> Result<(), BackendError> {
    let mut views = MaskViews::default();
    match mask {
        RowMask::None => {}
        RowMask::Causal => views.causal = true,
        RowMask::Keep(keep) => views.keep = Some(keep),
        RowMask::Additive(addend) => views.addend = Some(addend),
    }
    if y.is_empty() {
        return Ok(());
    }
    index_bound("softmax", p.axis.len)?;
    if p.axis.inner > 1 {
        softmax::columns(queue, p, kind, x, &views, y)
    } else {
        softmax::forward(queue, p, kind, x, &views, y)
    }
}

/// The op has checked the lengths.
fn softmax_gradient<T: Real>(
    queue: &CudaQueue,
    kind: SoftmaxKind,
    p: &AxisParams,
    y: CudaRef<'_, T>,
    g: CudaRef<'_, T>,
    dx: &CudaMut<'_, T>,
) -> Result<(), BackendError> {
    if dx.is_empty() {
        return Ok(());
    }
    index_bound("softmax_backward", p.len)?;
    if p.inner > 1 {
        softmax::backward_columns(queue, p, kind, y, g, dx)
    } else {
        softmax::backward(queue, p, kind, y, g, dx)
    }
}

/// Computes layer norm, or RMS norm without `beta` and `mean`, for `op`.
///
/// The op has checked the lengths.
fn norm<T: Real>(
    queue: &CudaQueue,
    op: &'static str,
    p: &NormParams,
    views: NormForward<'_, T>,
) -> Result<(), BackendError> {
    if views.x.is_empty() {
        return Ok(());
    }
    index_bound(op, p.len)?;
    if p.eps > 0.0 {
        return norm::forward(queue, p, &views, None); // no row is undefined
    }
    let centred = views.mean.is_some();
    let mut status: CudaBuf<u64> = queue.upload(&[u64::MAX])?;
    norm::forward(queue, p, &views, Some(&status.view_mut()))?;
    match queue.read(status.view())?.first() {
        None | Some(&u64::MAX) => Ok(()),
        Some(&row) => {
            let index = row as usize;
            let why = if centred { "the variance and eps are zero" } else { "the mean square and eps are zero" };
            Err(BackendError::Undefined { op, index, why })
        }
    }
}

/// Computes the gradients of layer norm: `dx`, and dgamma and dbeta in `parameters`.
///
/// Without `mean`, `offsets` and the second of `parameters`, they are the gradients of RMS norm.
/// The op has checked the lengths.
fn norm_backward<'a, T: Real>(
    queue: &'a CudaQueue,
    p: &NormParams,
    views: &NormBackward<'a, T>,
    dx: &CudaMut<'a, T>,
    parameters: [Option<CudaMut<'a, T>>; 2],
) -> Result<(), BackendError> {
    if views.x.is_empty() {
        return parameters.into_iter().flatten().try_for_each(|sums| queue.clear(sums));
    }
    index_bound("layer_norm_backward", p.len)?;
    norm::backward(queue, p, views, dx)?;
    if parameters.iter().all(Option::is_none) {
        return Ok(());
    }
    let blocks = p.rows.div_ceil(NORM_BLOCK_ROWS as u64);
    let width = if views.mean.is_some() { 2 * p.len } else { p.len };
    let mut sums = queue.alloc::<f32>((blocks * width) as usize)?;
    norm::parameters(queue, p, views, &sums.view_mut())?;
    let totals = SumParams { outer: 1, len: blocks, inner: p.len, accumulate: 0 };
    for (first, out) in [0, p.len as usize].into_iter().zip(parameters) {
        if let Some(out) = out {
            sum_columns(queue, &totals, width, sums.slice(first..sums.len())?, &out)?;
        }
    }
    Ok(())
}
