//! Softmax and normalisations.

mod columns;
mod convert;
mod norm;
mod softmax;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicUsize, Ordering};

use backend_api::{
    BackendError, Buffer, Queue, Real,
    ops::linalg::{RowMask, RowOps, check_len, product},
};
use core_types::params::rows::{AxisParams, NORM_BLOCK_ROWS, NormParams, SoftmaxParams};

use super::lanes::dispatch;
use crate::CpuQueue;

/// Elements that one task works on at least: 64 KiB of f32.
const GRAIN: usize = 16 * 1024;

/// Softmax or its logarithm.
#[derive(Clone, Copy)]
enum Kind {
    Softmax,
    Log,
}

impl Kind {
    /// The result of an element that the mask leaves out.
    #[inline(always)]
    fn excluded(self) -> f32 {
        match self {
            Self::Softmax => 0.0,
            Self::Log => f32::NEG_INFINITY,
        }
    }
}

/// A [`RowMask`] of this backend whose length has been checked.
#[derive(Clone, Copy)]
enum MaskSlice<'a> {
    None,
    Keep(&'a [bool]),
    Add(&'a [f32]),
    Causal,
}

/// Rows of `len` elements in one task.
fn rows_per_task(len: usize) -> usize {
    (GRAIN / len).max(1)
}

impl CpuQueue {
    fn softmax_forward<T: Real>(
        &self,
        kind: Kind,
        p: &SoftmaxParams,
        x: &[T],
        mask: RowMask<'_, Self>,
        y: &mut [T],
    ) -> Result<(), BackendError> {
        let elements = product(&[p.axis.outer, p.axis.len, p.axis.inner]);
        let mask_elements = || product(&[p.mask_period, p.axis.len, p.axis.inner]);
        check_len(elements, x.len())?;
        check_len(elements, y.len())?;
        let mask = match mask {
            RowMask::None => MaskSlice::None,
            RowMask::Causal => MaskSlice::Causal,
            RowMask::Keep(mask) => {
                check_len(mask_elements(), mask.len())?;
                MaskSlice::Keep(mask)
            }
            RowMask::Additive(mask) => {
                check_len(mask_elements(), mask.len())?;
                MaskSlice::Add(mask)
            }
        };
        if p.mask_period == 0 {
            return Err(BackendError::Unsupported { op: "softmax", why: "the mask period is zero" });
        }
        if y.is_empty() {
            return Ok(());
        }
        let simd = self.simd();
        if p.axis.inner > 1 {
            self.for_jobs(columns::strips(&p.axis, y), |_, strip| {
                dispatch(simd, columns::Forward { kind, p, mask, x, strip });
            });
            return Ok(());
        }
        let len = p.axis.len as usize;
        let rows = rows_per_task(len);
        self.for_chunks(y, rows * len, |i, y| {
            let x = &x[i * rows * len..][..y.len()];
            dispatch(simd, softmax::Forward { kind, p, mask, first_row: i * rows, x, y });
        });
        Ok(())
    }

    fn softmax_gradient<T: Real>(
        &self,
        kind: Kind,
        axis: &AxisParams,
        y: &[T],
        g: &[T],
        dx: &mut [T],
    ) -> Result<(), BackendError> {
        for len in [y.len(), g.len(), dx.len()] {
            check_len(product(&[axis.outer, axis.len, axis.inner]), len)?;
        }
        if dx.is_empty() {
            return Ok(());
        }
        let simd = self.simd();
        if axis.inner > 1 {
            self.for_jobs(columns::strips(axis, dx), |_, strip| {
                dispatch(simd, columns::Backward { kind, axis, y, g, strip });
            });
            return Ok(());
        }
        let len = axis.len as usize;
        let chunk = rows_per_task(len) * len;
        self.for_chunks(dx, chunk, |i, dx| {
            let range = i * chunk..i * chunk + dx.len();
            dispatch(simd, softmax::Backward { kind, len, y: &y[range.clone()], g: &g[range], dx });
        });
        Ok(())
    }

    /// Layer norm if `CENTRED`, else RMS norm without `beta` and `mean`.
    fn norm_forward<T: Real, const CENTRED: bool>(
        &self,
        p: &NormParams,
        [x, gamma, beta]: [&[T]; 3],
        y: &mut [T],
        [mean, rstd]: [&mut [f32]; 2],
    ) -> Result<(), BackendError> {
        let elements = product(&[p.rows, p.len]);
        for (expected, got) in [(elements, x.len()), (elements, y.len()), (p.len, gamma.len()), (p.rows, rstd.len())] {
            check_len(expected, got)?;
        }
        if y.is_empty() {
            return Ok(());
        }
        let (simd, len) = (self.simd(), p.len as usize);
        let rows = rows_per_task(len);
        let undefined = AtomicUsize::new(usize::MAX);
        let mut means = mean.chunks_mut(rows);
        let tasks = x.chunks(rows * len).zip(y.chunks_mut(rows * len)).zip(rstd.chunks_mut(rows));
        let tasks = tasks.map(|((x, y), rstd)| (x, y, means.next().unwrap_or_default(), rstd)).collect();
        self.for_jobs(tasks, |i, (x, y, mean, rstd)| {
            let kernel = norm::Forward::<T, CENTRED> { p, x, gamma, beta, y, mean, rstd };
            if let Some(row) = dispatch(simd, kernel) {
                undefined.fetch_min(i * rows + row, Ordering::Relaxed);
            }
        });
        match undefined.into_inner() {
            usize::MAX => Ok(()),
            index if CENTRED => {
                Err(BackendError::Undefined { op: "layer_norm", index, why: "the variance and eps are zero" })
            }
            index => Err(BackendError::Undefined { op: "rms_norm", index, why: "the mean square and eps are zero" }),
        }
    }

    /// Gradients of layer norm if `CENTRED`, else of RMS norm without `mean` and `dbeta`.
    fn norm_backward<T: Real, const CENTRED: bool>(
        &self,
        p: &NormParams,
        [x, gamma, g]: [&[T]; 3],
        [mean, rstd]: [&[f32]; 2],
        dx: &mut [T],
        [dgamma, dbeta]: [&mut [T]; 2],
    ) -> Result<(), BackendError> {
        let elements = product(&[p.rows, p.len]);
        for (expected, got) in [
            (elements, x.len()),
            (elements, g.len()),
            (elements, dx.len()),
            (p.len, gamma.len()),
            (p.len, dgamma.len()),
            (p.rows, rstd.len()),
        ] {
            check_len(expected, got)?;
        }
        let (simd, len) = (self.simd(), p.len as usize);
        if len == 0 {
            return Ok(());
        }
        let chunk = NORM_BLOCK_ROWS * len;
        let width = if CENTRED { 2 * len } else { len };
        let mut sums = self.zeros::<f32>(dx.len().div_ceil(chunk) * width)?;
        let tasks = dx.chunks_mut(chunk).zip(sums.view_mut().chunks_mut(width)).collect();
        self.for_jobs(tasks, |block, (dx, sums)| {
            let rows = block * NORM_BLOCK_ROWS..block * NORM_BLOCK_ROWS + dx.len() / len;
            let cells = rows.start * len..rows.end * len;
            let (x, g, rstd) = (&x[cells.clone()], &g[cells], &rstd[rows.clone()]);
            let mean = if CENTRED { &mean[rows] } else { &[] };
            dispatch(simd, norm::Backward::<T, CENTRED> { p, x, gamma, mean, rstd, g, dx, sums });
        });
        let sums = sums.view_mut();
        let (first, others) = sums.split_at_mut(width.min(sums.len()));
        for block in others.chunks_exact(width) {
            first.iter_mut().zip(block).for_each(|(total, sum)| *total += sum);
        }
        for (i, out) in dgamma.iter_mut().chain(dbeta).enumerate() {
            *out = T::from_f32(first.get(i).copied().unwrap_or(0.0));
        }
        Ok(())
    }
}

impl RowOps for CpuQueue {
    fn softmax<T: Real>(
        &self,
        p: &SoftmaxParams,
        x: &[T],
        mask: RowMask<'_, Self>,
        y: &mut [T],
    ) -> Result<(), BackendError> {
        self.softmax_forward(Kind::Softmax, p, x, mask, y)
    }

    fn log_softmax<T: Real>(
        &self,
        p: &SoftmaxParams,
        x: &[T],
        mask: RowMask<'_, Self>,
        y: &mut [T],
    ) -> Result<(), BackendError> {
        self.softmax_forward(Kind::Log, p, x, mask, y)
    }

    fn softmax_backward<T: Real>(&self, p: &AxisParams, y: &[T], g: &[T], dx: &mut [T]) -> Result<(), BackendError> {
        self.softmax_gradient(Kind::Softmax, p, y, g, dx)
    }

    fn log_softmax_backward<T: Real>(
        &self,
        p: &AxisParams,
        y: &[T],
        g: &[T],
        dx: &mut [T],
    ) -> Result<(), BackendError> {
        self.softmax_gradient(Kind::Log, p, y, g, dx)
    }

    fn layer_norm<T: Real>(
        &self,
        p: &NormParams,
        x: &[T],
        gamma: &[T],
        beta: &[T],
        y: &mut [T],
        stats: &mut [f32],
    ) -> Result<(), BackendError> {
        check_len(p.len, beta.len())?;
        check_len(product(&[p.rows, 2]), stats.len())?;
        let (mean, rstd) = stats.split_at_mut(stats.len() / 2);
        self.norm_forward::<T, true>(p, [x, gamma, beta], y, [mean, rstd])
    }

    fn layer_norm_backward<T: Real>(
        &self,
        p: &NormParams,
        x: &[T],
        gamma: &[T],
        stats: &[f32],
        g: &[T],
        dx: &mut [T],
        dgamma: &mut [T],
        dbeta: &mut [T],
    ) -> Result<(), BackendError> {
        check_len(p.len, dbeta.len())?;
        check_len(product(&[p.rows, 2]), stats.len())?;
        let (mean, rstd) = stats.split_at(stats.len() / 2);
        self.norm_backward::<T, true>(p, [x, gamma, g], [mean, rstd], dx, [dgamma, dbeta])
    }

    fn rms_norm<T: Real>(
        &self,
        p: &NormParams,
        x: &[T],
        gamma: &[T],
        y: &mut [T],
        rstd: &mut [f32],
    ) -> Result<(), BackendError> {
        self.norm_forward::<T, false>(p, [x, gamma, &[]], y, [&mut [], rstd])
    }

    fn rms_norm_backward<T: Real>(
        &self,
        p: &NormParams,
        x: &[T],
        gamma: &[T],
        rstd: &[f32],
        g: &[T],
        dx: &mut [T],
        dgamma: &mut [T],
    ) -> Result<(), BackendError> {
        self.norm_backward::<T, false>(p, [x, gamma, g], [&[], rstd], dx, [dgamma, &mut []])
    }
}
