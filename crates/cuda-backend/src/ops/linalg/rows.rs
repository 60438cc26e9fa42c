use backend_api::{
    BackendError, Buffer, BufferMut, BufferRef, Queue, Real,
    ops::linalg::{RowMask, RowOps, check_len, product},
};
use core_types::params::{
    elementwise::SumParams,
    rows::{AxisParams, NORM_BLOCK_ROWS, NormParams, SoftmaxParams},
};

use super::{elementwise::sum_columns, index_bound};
use crate::{
    CudaBuf, CudaMut, CudaQueue, CudaRef,
    launch::linalg::{self, Kind, MaskViews, NormBackward, NormForward},
};

impl RowOps for CudaQueue {
    fn softmax<T: Real>(
        &self,
        p: &SoftmaxParams,
        x: CudaRef<'_, T>,
        mask: RowMask<'_, Self>,
        y: CudaMut<'_, T>,
    ) -> Result<(), BackendError> {
        softmax(self, Kind::Softmax, p, x, mask, &y)
    }

    fn log_softmax<T: Real>(
        &self,
        p: &SoftmaxParams,
        x: CudaRef<'_, T>,
        mask: RowMask<'_, Self>,
        y: CudaMut<'_, T>,
    ) -> Result<(), BackendError> {
        softmax(self, Kind::Log, p, x, mask, &y)
    }

    fn softmax_backward<T: Real>(
        &self,
        p: &AxisParams,
        y: CudaRef<'_, T>,
        g: CudaRef<'_, T>,
        dx: CudaMut<'_, T>,
    ) -> Result<(), BackendError> {
        softmax_gradient(self, Kind::Softmax, p, y, g, &dx)
    }

    fn log_softmax_backward<T: Real>(
        &self,
        p: &AxisParams,
        y: CudaRef<'_, T>,
        g: CudaRef<'_, T>,
        dx: CudaMut<'_, T>,
    ) -> Result<(), BackendError> {
        softmax_gradient(self, Kind::Log, p, y, g, &dx)
    }

    fn layer_norm<T: Real>(
        &self,
        p: &NormParams,
        x: CudaRef<'_, T>,
        gamma: Option<CudaRef<'_, T>>,
        beta: Option<CudaRef<'_, T>>,
        y: CudaMut<'_, T>,
        stats: CudaMut<'_, f32>,
    ) -> Result<(), BackendError> {
        check_len(product(&[p.rows, 2]), stats.len())?;
        let (mean, rstd) = stats.split_at(p.rows as usize)?;
        norm(self, p, NormForward { x, gamma, beta, y, mean: Some(mean), rstd })
    }

    fn layer_norm_backward<T: Real>(
        &self,
        p: &NormParams,
        x: CudaRef<'_, T>,
        gamma: Option<CudaRef<'_, T>>,
        stats: CudaRef<'_, f32>,
        g: CudaRef<'_, T>,
        dx: CudaMut<'_, T>,
        dgamma: Option<CudaMut<'_, T>>,
        dbeta: Option<CudaMut<'_, T>>,
    ) -> Result<(), BackendError> {
        check_len(product(&[p.rows, 2]), stats.len())?;
        let (mean, rstd) = stats.split_at(p.rows as usize)?;
        let mut offsets = self.scratch(p.rows as usize)?;
        let views = NormBackward { x, gamma, mean: Some(mean), rstd, g, offsets: Some(offsets.view_mut()) };
        norm_backward(self, p, &views, &dx, [dgamma, dbeta])
    }

    fn rms_norm<T: Real>(
        &self,
        p: &NormParams,
        x: CudaRef<'_, T>,
        gamma: Option<CudaRef<'_, T>>,
        y: CudaMut<'_, T>,
        rstd: CudaMut<'_, f32>,
    ) -> Result<(), BackendError> {
        norm(self, p, NormForward { x, gamma, beta: None, y, mean: None, rstd })
    }

    fn rms_norm_backward<T: Real>(
        &self,
        p: &NormParams,
        x: CudaRef<'_, T>,
        gamma: Option<CudaRef<'_, T>>,
        rstd: CudaRef<'_, f32>,
        g: CudaRef<'_, T>,
        dx: CudaMut<'_, T>,
        dgamma: Option<CudaMut<'_, T>>,
    ) -> Result<(), BackendError> {
        let views = NormBackward { x, gamma, mean: None, rstd, g, offsets: None };
        norm_backward(self, p, &views, &dx, [dgamma, None])
    }
}

fn softmax<T: Real>(
    queue: &CudaQueue,
    kind: Kind,
    p: &SoftmaxParams,
    x: CudaRef<'_, T>,
    mask: RowMask<'_, CudaQueue>,
    y: &CudaMut<'_, T>,
) -> Result<(), BackendError> {
    let elements = product(&[p.axis.outer, p.axis.len, p.axis.inner]);
    check_len(elements, x.len())?;
    check_len(elements, y.len())?;
    let mask_elements = || product(&[p.mask_period, p.axis.len, p.axis.inner]);
    let mut views = MaskViews::default();
    match mask {
        RowMask::None => {}
        RowMask::Causal => views.causal = true,
        RowMask::Keep(keep) => {
            check_len(mask_elements(), keep.len())?;
            views.keep = Some(keep);
        }
        RowMask::Additive(addend) => {
            check_len(mask_elements(), addend.len())?;
            views.addend = Some(addend);
        }
    }
    if p.mask_period == 0 {
        return Err(BackendError::Unsupported { op: "softmax", why: "the mask period is zero" });
    }
    if y.is_empty() {
        return Ok(());
    }
    index_bound("softmax", p.axis.len)?;
    if p.axis.inner > 1 {
        linalg::softmax_columns(queue, p, kind, x, &views, y)
    } else {
        linalg::softmax(queue, p, kind, x, &views, y)
    }
}

fn softmax_gradient<T: Real>(
    queue: &CudaQueue,
    kind: Kind,
    p: &AxisParams,
    y: CudaRef<'_, T>,
    g: CudaRef<'_, T>,
    dx: &CudaMut<'_, T>,
) -> Result<(), BackendError> {
    let elements = product(&[p.outer, p.len, p.inner]);
    for len in [y.len(), g.len(), dx.len()] {
        check_len(elements, len)?;
    }
    if dx.is_empty() {
        return Ok(());
    }
    index_bound("softmax_backward", p.len)?;
    if p.inner > 1 {
        linalg::softmax_backward_columns(queue, p, kind, y, g, dx)
    } else {
        linalg::softmax_backward(queue, p, kind, y, g, dx)
    }
}

/// Layer norm, or RMS norm without `beta` and `mean`.
fn norm<T: Real>(queue: &CudaQueue, p: &NormParams, views: NormForward<'_, T>) -> Result<(), BackendError> {
    let elements = product(&[p.rows, p.len]);
    let NormForward { x, gamma, beta, y, rstd, .. } = &views;
    for (expected, got) in [(elements, x.len()), (elements, y.len()), (p.rows, rstd.len())] {
        check_len(expected, got)?;
    }
    for values in [gamma, beta].into_iter().flatten() {
        check_len(p.len, values.len())?;
    }
    if elements == 0 {
        return Ok(());
    }
    index_bound("layer_norm", p.len)?;
    if p.eps > 0.0 {
        return linalg::norm(queue, p, &views, None); // no row is undefined
    }
    let centred = views.mean.is_some();
    let mut status: CudaBuf<u64> = queue.upload(&[u64::MAX])?;
    linalg::norm(queue, p, &views, Some(&status.view_mut()))?;
    match queue.read(status.view())?.first() {
        None | Some(&u64::MAX) => Ok(()),
        Some(&row) => {
            let index = row as usize;
            Err(if centred {
                BackendError::Undefined { op: "layer_norm", index, why: "the variance and eps are zero" }
            } else {
                BackendError::Undefined { op: "rms_norm", index, why: "the mean square and eps are zero" }
            })
        }
    }
}

/// The gradients of layer norm, or of RMS norm without `mean`, `offsets` and the second of `parameters`: dgamma and dbeta.
fn norm_backward<'a, T: Real>(
    queue: &'a CudaQueue,
    p: &NormParams,
    views: &NormBackward<'a, T>,
    dx: &CudaMut<'a, T>,
    mut parameters: [Option<CudaMut<'a, T>>; 2],
) -> Result<(), BackendError> {
    let elements = product(&[p.rows, p.len]);
    let NormBackward { x, gamma, rstd, g, .. } = views;
    for (expected, got) in [(elements, x.len()), (elements, g.len()), (elements, dx.len()), (p.rows, rstd.len())] {
        check_len(expected, got)?;
    }
    let of_columns = parameters.iter().flatten().map(BufferMut::len).chain(gamma.iter().map(BufferRef::len));
    for got in of_columns {
        check_len(p.len, got)?;
    }
    if elements == 0 {
        return parameters.iter_mut().flatten().try_for_each(|sums| queue.clear(sums));
    }
    index_bound("layer_norm_backward", p.len)?;
    linalg::norm_backward(queue, p, views, dx)?;
    if parameters.iter().all(Option::is_none) {
        return Ok(());
    }
    let blocks = p.rows.div_ceil(NORM_BLOCK_ROWS as u64);
    let width = if views.mean.is_some() { 2 * p.len } else { p.len };
    let mut sums = queue.scratch::<f32>((blocks * width) as usize)?;
    linalg::norm_parameters(queue, p, views, &sums.view_mut())?;
    let totals = SumParams { outer: 1, len: blocks, inner: p.len, accumulate: 0 };
    for (first, out) in [0, p.len as usize].into_iter().zip(parameters) {
        if let Some(out) = out {
            sum_columns(queue, &totals, width, sums.slice(first..sums.len())?, &out)?;
        }
    }
    Ok(())
}
