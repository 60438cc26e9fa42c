//! Softmax and normalisations.

mod columns;
pub(super) mod convert;
mod norm;
mod norm_backward;
pub(super) mod softmax;

use std::sync::atomic::{AtomicUsize, Ordering};

use backend_api::{
    BackendError, Buffer, DType, Queue, Real, Reservation,
    ops::linalg::{
        AddLayerNorm, LayerNorm, LayerNormBackward, RmsNorm, RmsNormBackward, RowMask, Softmax, SoftmaxBackward,
    },
};
use core_types::params::rows::{AxisParams, NORM_BLOCK_ROWS, NormParams, SoftmaxKind};

use self::{norm::NormRows, norm_backward::NormBackward};
use super::reals::Reals;
use crate::checked::RowOps;
use crate::{
    CpuQueue,
    simd::{dispatch, floats::Floats},
};

/// The fewest elements that one task works on: 64 KiB of f32.
const GRAIN: usize = 16 * 1024;

/// Steps of a sum whose terms are added up before they join the running sum.
///
/// A step takes one or more vectors of a row or column. Rounding errors thus do not grow with the
/// length.
pub(super) const PART_STEPS: usize = 64;

/// Vectors worked on at once, to hide the latency of sums and exponentials.
const UNROLL: usize = 4;

/// Elements of those vectors.
#[inline(always)]
const fn unrolled<L: Floats>() -> usize {
    UNROLL * L::N
}

/// The sum of four accumulators.
#[inline(always)]
fn total<L: Floats>(l: L, acc: [L::V; UNROLL]) -> L::V {
    l.add(l.add(acc[0], acc[1]), l.add(acc[2], acc[3]))
}

/// Whether a part ends with this step, counted from 0.
#[inline(always)]
pub(super) fn ends_part(step: usize) -> bool {
    (step + 1).is_multiple_of(PART_STEPS)
}

/// Softmax or its logarithm.
#[derive(Clone, Copy)]
enum SoftmaxVariant {
    Softmax,
    Log,
}

impl From<SoftmaxKind> for SoftmaxVariant {
    fn from(kind: SoftmaxKind) -> Self {
        match kind {
            SoftmaxKind::Softmax => Self::Softmax,
            SoftmaxKind::Log => Self::Log,
        }
    }
}

impl SoftmaxVariant {
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
    /// Reserves the scratch memory of a softmax along an axis other than the last.
    ///
    /// The softmax copies `gathered` operands.
    fn reserve_strips(&self, axis: &AxisParams, gathered: usize) -> Result<[Reservation; 2], BackendError> {
        let (strips, bytes) = columns::strips_and_bytes(axis);
        let scratch = gathered * columns::strip_scratch(axis.len as usize);
        Ok([self.reserve(bytes)?, self.reserve_scratch::<f32>(strips, scratch)?])
    }

    /// Reserves the scratch of tasks of `chunk` elements each.
    ///
    /// A task holds `always` rows of `len` f32, and `narrow` more unless `T` is f32.
    fn reserve_rows<T: Real>(
        &self,
        [elements, chunk]: [usize; 2],
        len: usize,
        narrow: usize,
        always: usize,
    ) -> Result<Option<Reservation>, BackendError> {
        let rows = always + if T::DTYPE == DType::F32 { 0 } else { narrow };
        // Most rows take none, and the number of tasks takes a division.
        (rows > 0).then(|| self.reserve_scratch::<f32>(elements.div_ceil(chunk), rows * len)).transpose()
    }

    /// Layer norm if `CENTRED`, else RMS norm without `beta` and `mean`.
    ///
    /// `op` has checked the lengths.
    fn norm_forward<T: Real, const CENTRED: bool>(
        &self,
        op: &'static str,
        p: &NormParams,
        mut x: NormRows<'_, T>,
        [gamma, beta]: [Option<&[T]>; 2],
        y: &mut [T],
        [mean, rstd]: [&mut [f32]; 2],
    ) -> Result<(), BackendError> {
        if y.is_empty() {
            return Ok(());
        }
        let (simd, len) = (self.simd(), p.len as usize);
        let rows = rows_per_task(len);
        // Scratch for rows and parameters that are not f32.
        let given = [gamma, beta].into_iter().flatten().count();
        let made = usize::from(gamma.is_none()) + usize::from(CENTRED && beta.is_none());
        // A row in place is copied, whatever its type.
        let (narrow, always) = if matches!(x, NormRows::InPlace) { (1, 1) } else { (2, 0) };
        let _scratch = self.reserve_rows::<T>([y.len(), rows * len], len, narrow + given, always + made)?;
        let [gamma, beta] = [gamma, beta].map(|values| values.map(Reals::from));
        // The least row with an undefined result is reported.
        let undefined = AtomicUsize::new(usize::MAX);
        let mut means = mean.chunks_mut(rows);
        let tasks = y.chunks_mut(rows * len).zip(rstd.chunks_mut(rows));
        let tasks = tasks.map(|(y, rstd)| (x.take(y.len()), y, means.next().unwrap_or_default(), rstd)).collect();
        self.for_jobs(tasks, |i, (x, y, mean, rstd)| {
            let x = x.values(simd).map(Reals::from);
            let kernel = norm::NormRowsForward::<CENTRED> {
                p,
                fetches: simd.fetches_rows(),
                x,
                gamma,
                beta,
                y: y.into(),
                mean,
                rstd,
            };
            if let Some(row) = dispatch(simd, kernel) {
                undefined.fetch_min(i * rows + row, Ordering::Relaxed);
            }
        });
        match undefined.into_inner() {
            usize::MAX => Ok(()),
            index if CENTRED => Err(BackendError::Undefined { op, index, why: "the variance and eps are zero" }),
            index => Err(BackendError::Undefined { op, index, why: "the mean square and eps are zero" }),
        }
    }

    /// Gradients of layer norm if `CENTRED`, else of RMS norm without `mean` and `dbeta`.
    ///
    /// The op has checked the lengths.
    fn norm_backward<T: Real, const CENTRED: bool>(
        &self,
        p: &NormParams,
        [x, g]: [&[T]; 2],
        gamma: Option<&[T]>,
        [mean, rstd]: [&[f32]; 2],
        dx: &mut [T],
        parameters: [Option<&mut [T]>; 2],
    ) -> Result<(), BackendError> {
        let (simd, len) = (self.simd(), p.len as usize);
        if len == 0 {
            return Ok(());
        }
        let chunk = NORM_BLOCK_ROWS * len;
        let blocks = dx.len().div_ceil(chunk);
        let width = if CENTRED { 2 * len } else { len };
        let given = usize::from(gamma.is_some());
        let _scratch = self.reserve_rows::<T>([dx.len(), chunk], len, 3 + given, 1 - given)?;
        let mut sums = self.zeros::<f32>(blocks * width)?;
        let tasks = dx.chunks_mut(chunk).zip(sums.view_mut().chunks_mut(width)).collect();
        self.for_jobs(tasks, |block, (dx, sums)| {
            let rows = block * NORM_BLOCK_ROWS..block * NORM_BLOCK_ROWS + dx.len() / len;
            let cells = rows.start * len..rows.end * len;
            let (x, g, rstd) = (x[cells.clone()].into(), g[cells].into(), &rstd[rows.clone()]);
            let mean = if CENTRED { &mean[rows] } else { &[] };
            dispatch(
                simd,
                NormBackward::<CENTRED> { p, x, gamma: gamma.map(Reals::from), mean, rstd, g, dx: dx.into(), sums },
            );
        });
        for (first, out) in [0, len].into_iter().zip(parameters) {
            add_blocks(sums.view().get(first..).unwrap_or_default(), width, out.unwrap_or_default());
        }
        Ok(())
    }
}

/// Sums of columns over blocks, which lie `width` elements apart, for `out.len()` columns.
fn add_blocks<T: Real>(blocks: &[f32], width: usize, out: &mut [T]) {
    const COLUMNS: usize = 64;
    for (i, out) in out.chunks_mut(COLUMNS).enumerate() {
        let mut totals = [0.0f64; COLUMNS];
        for block in blocks.chunks(width) {
            totals.iter_mut().zip(&block[i * COLUMNS..]).for_each(|(total, &sum)| *total += f64::from(sum));
        }
        out.iter_mut().zip(totals).for_each(|(out, total)| *out = T::from_f32(total as f32));
    }
}

impl RowOps for CpuQueue {
    fn softmax<T: Real>(&self, op: Softmax<'_, Self, T>) -> Result<(), BackendError> {
        let Softmax { params: p, kind, x, mask, y } = op;
        let kind = SoftmaxVariant::from(kind);
        let mask = match mask {
            RowMask::None => MaskSlice::None,
            RowMask::Causal => MaskSlice::Causal,
            RowMask::Keep(mask) => MaskSlice::Keep(mask),
            RowMask::Additive(mask) => MaskSlice::Add(mask),
        };
        if y.is_empty() {
            return Ok(());
        }
        let simd = self.simd();
        // Along another axis than the last, strips of columns are gathered.
        if p.axis.inner > 1 {
            let _scratch = self.reserve_strips(&p.axis, 1)?;
            let (x, lowest) = (x.map(Reals::from), Reals::from(&*y).lowest());
            self.for_jobs(columns::strips(&p.axis, y), |_, strip| {
                dispatch(simd, columns::SoftmaxStripForward { kind, p, mask, x, lowest, strip });
            });
            return Ok(());
        }
        // Along the last axis, a task has whole rows.
        let len = p.axis.len as usize;
        let rows = rows_per_task(len);
        let masked = usize::from(matches!(mask, MaskSlice::Keep(_) | MaskSlice::Add(_)));
        // A row in place is copied, whatever its type.
        let (narrow, always) = if x.is_some() { (2, masked) } else { (1, masked + 1) };
        let _scratch = self.reserve_rows::<T>([y.len(), rows * len], len, narrow, always)?;
        self.for_chunks(y, rows * len, |i, y| {
            let x = x.map(|x| Reals::from(&x[i * rows * len..][..y.len()]));
            dispatch(simd, softmax::SoftmaxRowsForward { kind, p, mask, first_row: i * rows, x, y: y.into() });
        });
        Ok(())
    }

    fn softmax_backward<T: Real>(&self, op: SoftmaxBackward<'_, Self, T>) -> Result<(), BackendError> {
        let SoftmaxBackward { params: axis, kind, y, g, dx } = op;
        let kind = SoftmaxVariant::from(kind);
        if dx.is_empty() {
            return Ok(());
        }
        let simd = self.simd();
        if axis.inner > 1 {
            let _scratch = self.reserve_strips(axis, 2)?;
            self.for_jobs(columns::strips(axis, dx), |_, strip| {
                dispatch(simd, columns::SoftmaxStripBackward { kind, axis, y: y.into(), g: g.into(), strip });
            });
            return Ok(());
        }
        let len = axis.len as usize;
        let chunk = rows_per_task(len) * len;
        let _scratch = self.reserve_rows::<T>([dx.len(), chunk], len, 3, 0)?;
        self.for_chunks(dx, chunk, |i, dx| {
            let range = i * chunk..i * chunk + dx.len();
            let (y, g) = (y[range.clone()].into(), g[range].into());
            dispatch(simd, softmax::SoftmaxRowsBackward { kind, len, y, g, dx: dx.into() });
        });
        Ok(())
    }

    fn layer_norm<T: Real>(&self, op: LayerNorm<'_, Self, T>) -> Result<(), BackendError> {
        let LayerNorm { params, x, gamma, beta, y, stats } = op;
        let (mean, rstd) = stats.split_at_mut(stats.len() / 2);
        self.norm_forward::<T, true>("layer_norm", params, NormRows::new(x), [gamma, beta], y, [mean, rstd])
    }

    fn add_layer_norm<T: Real>(&self, op: AddLayerNorm<'_, Self, T>) -> Result<(), BackendError> {
        let AddLayerNorm { params, x, r, gamma, beta, sum, y, stats } = op;
        let (mean, rstd) = stats.split_at_mut(stats.len() / 2);
        let x = NormRows::Sum { x, r, sum };
        self.norm_forward::<T, true>("add_layer_norm", params, x, [gamma, beta], y, [mean, rstd])
    }

    fn layer_norm_backward<T: Real>(&self, op: LayerNormBackward<'_, Self, T>) -> Result<(), BackendError> {
        let LayerNormBackward { params, x, gamma, stats, g, dx, dgamma, dbeta } = op;
        let (mean, rstd) = stats.split_at(stats.len() / 2);
        self.norm_backward::<T, true>(params, [x, g], gamma, [mean, rstd], dx, [dgamma, dbeta])
    }

    fn rms_norm<T: Real>(&self, op: RmsNorm<'_, Self, T>) -> Result<(), BackendError> {
        let RmsNorm { params, x, gamma, y, rstd } = op;
        self.norm_forward::<T, false>("rms_norm", params, NormRows::new(x), [gamma, None], y, [&mut [], rstd])
    }

    fn rms_norm_backward<T: Real>(&self, op: RmsNormBackward<'_, Self, T>) -> Result<(), BackendError> {
        let RmsNormBackward { params, x, gamma, rstd, g, dx, dgamma } = op;
        self.norm_backward::<T, false>(params, [x, g], gamma, [&[], rstd], dx, [dgamma, None])
    }
}
