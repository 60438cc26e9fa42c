use backend_api::{
    Mut, Real, Ref,
    ops::linalg::{LogSoftmax, LogSoftmaxBackward, RowOps, Softmax, SoftmaxBackward},
};
use core_types::params::rows::{AxisParams, SoftmaxParams};

use crate::{
    Layout, Mask, NnError,
    view::{first, first_mut},
};

/// Softmax and log-softmax along one axis of row-major tensors of one shape, forward and backward.
///
/// Views hold at least the elements of the shape, from their start. Maxima, exponentials and sums are f32 for every element
/// type; each sum's order depends on the shape alone, and a row's result on that row alone. NaN or +inf in a row make the
/// row NaN, and so does a row of -inf.
///
/// ```
/// use backend_api::{Buffer, Queue};
/// use nn_ops::{Mask, SoftmaxPlan};
///
/// let q = runtime::cpu()?;
/// let plan = SoftmaxPlan::new(&[2, 3], 1)?;
/// let x = q.upload(&[0.0f32, 0.0, 0.0, 1.0, 2.0, 3.0])?;
/// let mut y = q.zeros::<f32>(6)?;
///
/// plan.softmax(&q, x.view(), Mask::Causal { offset: 0 }, y.view_mut())?;
/// let p = q.download(&y)?;
/// assert_eq!(p[..3], [1.0, 0.0, 0.0]);
/// assert!((p[4] / p[3] - 1f32.exp()).abs() < 1e-6 && p[5] == 0.0);
///
/// let g = q.upload(&[1.0f32; 6])?;
/// let mut dx = q.zeros::<f32>(6)?;
/// plan.softmax_backward(&q, y.view(), g.view(), dx.view_mut())?; // a constant gradient changes nothing
/// assert!(q.download(&dx)?.iter().all(|d| d.abs() < 1e-6));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoftmaxPlan {
    layout: Layout,
    axis: usize,
    params: AxisParams,
    count: usize,
}

impl SoftmaxPlan {
    /// A plan for tensors of `shape` and one of its axes.
    ///
    /// # Errors
    /// [`NnError::Axis`] if there is no such axis, [`NnError::EmptyReduction`] if it is empty and the others are not,
    /// [`NnError::TooManyAxes`] or [`NnError::Overflow`] if no tensor has the shape.
    pub fn new(shape: &[usize], axis: usize) -> Result<Self, NnError> {
        const OP: &str = "softmax";
        let layout = Layout::contiguous(shape)?;
        let Some(&len) = shape.get(axis) else {
            return Err(NnError::Axis { op: OP, rank: shape.len(), axis });
        };
        let (outer, inner) = (shape[..axis].iter().product::<usize>(), shape[axis + 1..].iter().product::<usize>());
        if len == 0 && outer > 0 && inner > 0 {
            return Err(NnError::EmptyReduction { op: OP });
        }
        let params = AxisParams { outer: outer as u64, len: len as u64, inner: inner as u64 };
        Ok(Self { layout, axis, params, count: layout.numel() })
    }

    /// `y_c = exp(x_c) / sum_j exp(x_j)` along the axis, computed from differences to the greatest element. Elements that the
    /// mask leaves out give 0.
    ///
    /// # Errors
    /// [`NnError::ViewTooShort`], [`NnError::ShapeMismatch`] for a mask of another shape, [`NnError::Rank`] for a causal
    /// mask along the first axis, [`NnError::Backend`] after that.
    pub fn softmax<Q: RowOps, T: Real>(
        &self,
        q: &Q,
        x: Ref<'_, Q, T>,
        mask: Mask<'_, Q>,
        y: Mut<'_, Q, T>,
    ) -> Result<(), NnError> {
        let (params, mask) = self.masked(q, "softmax", mask)?;
        Ok(q.softmax(Softmax { params: &params, x: first(q, x, self.count)?, mask, y: first_mut(q, y, self.count)? })?)
    }

    /// `y_c = x_c - ln sum_j exp(x_j)` along the axis, without cancellation for large x and without loss where one element
    /// dominates. Elements that the mask leaves out give -inf.
    ///
    /// # Errors
    /// As [`softmax`](Self::softmax).
    pub fn log_softmax<Q: RowOps, T: Real>(
        &self,
        q: &Q,
        x: Ref<'_, Q, T>,
        mask: Mask<'_, Q>,
        y: Mut<'_, Q, T>,
    ) -> Result<(), NnError> {
        let (params, mask) = self.masked(q, "log_softmax", mask)?;
        Ok(q.log_softmax(LogSoftmax {
            params: &params,
            x: first(q, x, self.count)?,
            mask,
            y: first_mut(q, y, self.count)?,
        })?)
    }

    /// `dx = y (g - sum_j g_j y_j)` for the output y of [`softmax`](Self::softmax) and the gradient g of the loss by y.
    ///
    /// Elements left out have y = 0, so a mask is not needed again.
    ///
    /// # Errors
    /// [`NnError::ViewTooShort`], [`NnError::Backend`] after that.
    pub fn softmax_backward<Q: RowOps, T: Real>(
        &self,
        q: &Q,
        y: Ref<'_, Q, T>,
        g: Ref<'_, Q, T>,
        dx: Mut<'_, Q, T>,
    ) -> Result<(), NnError> {
        let (y, g) = (first(q, y, self.count)?, first(q, g, self.count)?);
        Ok(q.softmax_backward(SoftmaxBackward { params: &self.params, y, g, dx: first_mut(q, dx, self.count)? })?)
    }

    /// `dx = g - exp(y) sum_j g_j` for the output y of [`log_softmax`](Self::log_softmax) and the gradient g of the loss by y.
    ///
    /// Elements with y = -inf are constant: dx is 0 there and their g counts for nothing.
    ///
    /// # Errors
    /// [`NnError::ViewTooShort`], [`NnError::Backend`] after that.
    pub fn log_softmax_backward<Q: RowOps, T: Real>(
        &self,
        q: &Q,
        y: Ref<'_, Q, T>,
        g: Ref<'_, Q, T>,
        dx: Mut<'_, Q, T>,
    ) -> Result<(), NnError> {
        let (y, g) = (first(q, y, self.count)?, first(q, g, self.count)?);
        Ok(q.log_softmax_backward(LogSoftmaxBackward {
            params: &self.params,
            y,
            g,
            dx: first_mut(q, dx, self.count)?,
        })?)
    }

    fn masked<'s, 'l: 's, Q: RowOps>(
        &self,
        q: &Q,
        op: &'static str,
        mask: Mask<'l, Q>,
    ) -> Result<(SoftmaxParams, backend_api::ops::linalg::RowMask<'s, Q>), NnError> {
        let mask = mask.fit(q, op, self.layout.shape(), self.axis)?;
        let (mask_period, causal_offset) = (mask.period as u64, mask.causal_offset);
        Ok((SoftmaxParams { axis: self.params, mask_period, causal_offset }, mask.operand))
    }
}

#[cfg(test)]
mod tests {
    use backend_api::{Buffer, Queue};

    use super::*;

    #[test]
    fn impossible_axes_and_empty_rows_are_refused() {
        assert_eq!(SoftmaxPlan::new(&[2, 3], 2), Err(NnError::Axis { op: "softmax", rank: 2, axis: 2 }));
        assert_eq!(SoftmaxPlan::new(&[2, 0], 1), Err(NnError::EmptyReduction { op: "softmax" }));
        assert!(SoftmaxPlan::new(&[0, 0], 1).is_ok());
        assert!(matches!(SoftmaxPlan::new(&[usize::MAX, 2], 0), Err(NnError::Overflow { .. })));
    }

    #[test]
    fn a_softmax_without_rows_does_nothing() {
        let q = runtime::cpu().unwrap();
        let (x, mut y) = (q.zeros::<f32>(0).unwrap(), q.zeros::<f32>(0).unwrap());
        for shape in [[0, 3], [0, 0], [3, 0]] {
            if let Ok(plan) = SoftmaxPlan::new(&shape, 1) {
                plan.softmax(&q, x.view(), Mask::Causal { offset: 0 }, y.view_mut()).unwrap();
            }
        }
    }

    #[test]
    fn masks_repeat_over_leading_axes_only() {
        let q = runtime::cpu().unwrap();
        let x = q.zeros::<f32>(24).unwrap();
        let keep = q.upload(&[true; 24]).unwrap();
        let run = |shape: &[usize], axis| {
            let mut y = q.zeros::<f32>(24).unwrap();
            let mask = Mask::Keep { keep: keep.view(), shape };
            SoftmaxPlan::new(&[2, 3, 4], axis).unwrap().softmax(&q, x.view(), mask, y.view_mut())
        };
        for shape in [&[2, 3, 4][..], &[3, 4], &[4]] {
            assert_eq!(run(shape, 2), Ok(()));
        }
        assert!(matches!(run(&[2, 3], 2), Err(NnError::ShapeMismatch { .. })));
        assert!(matches!(run(&[4], 1), Err(NnError::ShapeMismatch { .. })));
        assert!(matches!(run(&[1, 2, 3, 4], 2), Err(NnError::ShapeMismatch { .. })));
    }

    #[test]
    fn short_views_and_causal_masks_without_queries_are_refused() {
        let q = runtime::cpu().unwrap();
        let (x, mut y) = (q.zeros::<f32>(5).unwrap(), q.zeros::<f32>(6).unwrap());
        let plan = SoftmaxPlan::new(&[2, 3], 1).unwrap();
        let refused = plan.softmax(&q, x.view(), Mask::None, y.view_mut());
        assert_eq!(refused, Err(NnError::ViewTooShort { expected: 6, got: 5 }));
        let causal = SoftmaxPlan::new(&[5], 0).unwrap().softmax(&q, x.view(), Mask::Causal { offset: 0 }, y.view_mut());
        assert_eq!(causal, Err(NnError::Rank { op: "softmax", expected: 2, got: 1 }));
    }
}
