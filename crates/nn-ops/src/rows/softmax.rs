//! Softmax and log-softmax along one axis, forward and backward.

use backend_api::{
    Real,
    ops::linalg::{Softmax, SoftmaxBackward},
};
use core_types::params::rows::{AxisParams, SoftmaxKind, SoftmaxParams};

use super::mask::{Mask, PackedMask};
use crate::{
    RowOps, TensorOps,
    error::{NnError, Result},
    movement::{Fit, Packed, Unpacked},
    tensor::{Layout, TensorMut, TensorRef},
};

/// Softmax and log-softmax along one axis, forward and backward.
///
/// Tensors have one shape and any layout; those that are not row-major are packed by a copy.
///
/// Maxima, exponentials and sums are f32 for every element type; the order of each sum depends only
/// on the shape, and a row's result only on that row. NaN or +inf in a row makes the row NaN, and
/// so does a row that is all -inf.
///
/// ```
/// use nn_ops::{Mask, SoftmaxPlan, Tensor};
///
/// let q = runtime::cpu()?;
/// let shape = [2, 3];
/// let plan = SoftmaxPlan::new(&shape, 1)?;
/// let x = Tensor::from_values(&q, &shape, &[0.0f32, 0.0, 0.0, 1.0, 2.0, 3.0])?;
/// let mut y = Tensor::alloc(&q, &shape)?;
/// plan.softmax(&q, x.at(), Mask::Causal { offset: 0 }, y.at_mut())?;
/// let p = y.values(&q)?;
/// assert_eq!(p[..3], [1.0, 0.0, 0.0]);
/// assert!((p[4] / p[3] - 1f32.exp()).abs() < 1e-6 && p[5] == 0.0);
///
/// let g = Tensor::from_values(&q, &shape, &[1.0f32; 6])?;
/// let mut dx = Tensor::alloc(&q, &shape)?;
/// plan.softmax_backward(&q, y.at(), g.at(), dx.at_mut())?; // a constant gradient changes nothing
/// assert!(dx.values(&q)?.iter().all(|d| d.abs() < 1e-6));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoftmaxPlan {
    layout: Layout,
    axis: usize,
    params: AxisParams,
}

impl SoftmaxPlan {
    /// A plan for tensors of `shape` and one of its axes.
    ///
    /// # Errors
    /// [`NnError::Axis`] if there is no such axis, [`NnError::EmptyReduction`] if it is empty and
    /// the others are not, [`NnError::TooManyAxes`] or [`NnError::Overflow`] if no tensor has the
    /// shape.
    pub fn new(shape: &[usize], axis: usize) -> Result<Self> {
        const OP: &str = "softmax";
        let layout = Layout::of(OP, shape)?;
        let params = layout.around(OP, axis)?;
        if params.len == 0 && params.outer > 0 && params.inner > 0 {
            return Err(NnError::EmptyReduction { op: OP });
        }
        Ok(Self { layout, axis, params })
    }

    /// `y_c = exp(x_c) / sum_j exp(x_j)` along the axis.
    ///
    /// It is computed from differences to the greatest element. Elements that the mask leaves out
    /// give 0.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] for a tensor of another shape or a mask that does not fit,
    /// [`NnError::Parameter`] for a causal mask along the first axis, [`NnError::Backend`] after
    /// that.
    pub fn softmax<Q: RowOps + TensorOps, T: Real>(
        &self,
        q: &Q,
        x: TensorRef<'_, Q, T>,
        mask: Mask<'_, Q>,
        y: TensorMut<'_, Q, T>,
    ) -> Result<()> {
        self.write(q, ("softmax", SoftmaxKind::Softmax), Some(x), mask, y)
    }

    /// `y_c = x_c - ln sum_j exp(x_j)` along the axis.
    ///
    /// There is no cancellation for large x, and no loss if one element dominates. Elements that
    /// the mask leaves out give -inf. A finite element has a finite result: the least number of `T`
    /// where the difference overflows (PyTorch gives -inf there).
    ///
    /// # Errors
    /// As [`softmax`](Self::softmax).
    pub fn log_softmax<Q: RowOps + TensorOps, T: Real>(
        &self,
        q: &Q,
        x: TensorRef<'_, Q, T>,
        mask: Mask<'_, Q>,
        y: TensorMut<'_, Q, T>,
    ) -> Result<()> {
        self.write(q, ("log_softmax", SoftmaxKind::Log), Some(x), mask, y)
    }

    /// [`softmax`](Self::softmax) of x with the results in x, bit for bit.
    ///
    /// The backward pass reads the results alone.
    ///
    /// # Errors
    /// As [`softmax`](Self::softmax).
    pub fn softmax_in_place<Q: RowOps + TensorOps, T: Real>(
        &self,
        q: &Q,
        x: TensorMut<'_, Q, T>,
        mask: Mask<'_, Q>,
    ) -> Result<()> {
        self.write(q, ("softmax_in_place", SoftmaxKind::Softmax), None, mask, x)
    }

    /// [`log_softmax`](Self::log_softmax) of x with the results in x, bit for bit.
    ///
    /// # Errors
    /// As [`softmax_in_place`](Self::softmax_in_place).
    pub fn log_softmax_in_place<Q: RowOps + TensorOps, T: Real>(
        &self,
        q: &Q,
        x: TensorMut<'_, Q, T>,
        mask: Mask<'_, Q>,
    ) -> Result<()> {
        self.write(q, ("log_softmax_in_place", SoftmaxKind::Log), None, mask, x)
    }

    /// The gradient of [`softmax`](Self::softmax), `dx = y (g - sum_j g_j y_j)`.
    ///
    /// y is the output of `softmax`, and g the gradient of the loss with respect to y.
    ///
    /// Elements left out have y = 0, so a mask is not needed again.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] for a tensor of another shape, [`NnError::Backend`] after that.
    pub fn softmax_backward<Q: RowOps + TensorOps, T: Real>(
        &self,
        q: &Q,
        y: TensorRef<'_, Q, T>,
        g: TensorRef<'_, Q, T>,
        dx: TensorMut<'_, Q, T>,
    ) -> Result<()> {
        self.gradient(q, "softmax_backward", SoftmaxKind::Softmax, [y.shorten(), g.shorten()], dx)
    }

    /// The gradient of [`log_softmax`](Self::log_softmax), `dx = g - exp(y) sum_j g_j`.
    ///
    /// y is the output of `log_softmax`, and g the gradient of the loss with respect to y.
    ///
    /// Elements with y = -inf are constant: dx is 0 there and their g counts for nothing.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] for a tensor of another shape, [`NnError::Backend`] after that.
    pub fn log_softmax_backward<Q: RowOps + TensorOps, T: Real>(
        &self,
        q: &Q,
        y: TensorRef<'_, Q, T>,
        g: TensorRef<'_, Q, T>,
        dx: TensorMut<'_, Q, T>,
    ) -> Result<()> {
        self.gradient(q, "log_softmax_backward", SoftmaxKind::Log, [y.shorten(), g.shorten()], dx)
    }

    /// Softmax or its logarithm of x, or without x in place, for `op`.
    fn write<Q: RowOps + TensorOps, T: Real>(
        &self,
        q: &Q,
        (op, kind): (&'static str, SoftmaxKind),
        x: Option<TensorRef<'_, Q, T>>,
        mask: Mask<'_, Q>,
        y: TensorMut<'_, Q, T>,
    ) -> Result<()> {
        let in_place = x.is_none();
        let (params, mut mask) = self.masked(op, mask)?;
        let mut x = x.fit(op, "x", &self.layout)?;
        let (y, mut result) = (y.fit(op, if in_place { "x" } else { "y" }, &self.layout)?, Unpacked::new());
        let y = result.writable(q, y, in_place)?;
        q.softmax(Softmax { params: &params, kind, x: Packed::view_some(&mut x, q)?, mask: mask.view(q)?, y })?;
        result.finish(q)
    }

    /// The gradient from the output y, for `op`.
    fn gradient<Q: RowOps + TensorOps, T: Real>(
        &self,
        q: &Q,
        op: &'static str,
        kind: SoftmaxKind,
        [y, g]: [TensorRef<'_, Q, T>; 2],
        dx: TensorMut<'_, Q, T>,
    ) -> Result<()> {
        let (mut y, mut g) = (y.fit(op, "y", &self.layout)?, g.fit(op, "g", &self.layout)?);
        let (dx, mut result) = (dx.fit(op, "dx", &self.layout)?, Unpacked::new());
        let (y, g, dx) = (y.view(q)?, g.view(q)?, result.target(q, dx)?);
        q.softmax_backward(SoftmaxBackward { params: &self.params, kind, y, g, dx })?;
        result.finish(q)
    }

    fn masked<'a, Q: TensorOps>(
        &self,
        op: &'static str,
        mask: Mask<'a, Q>,
    ) -> Result<(SoftmaxParams, PackedMask<'a, Q>)> {
        let mask = mask.fit(op, self.layout.shape(), self.axis)?;
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

    /// Runs a softmax of zeros.
    fn run<Q: RowOps + TensorOps>(q: &Q, shape: &[usize], axis: usize, mask: Mask<'_, Q>) -> Result<(), NnError> {
        let layout = Layout::contiguous(shape)?;
        let (x, mut y) = (q.zeros::<f32>(layout.numel())?, q.zeros::<f32>(layout.numel())?);
        let (x, y) = (TensorRef::new(x.view(), layout)?, TensorMut::new(y.view_mut(), layout)?);
        SoftmaxPlan::new(shape, axis)?.softmax(q, x, mask, y)
    }

    #[test]
    fn a_softmax_without_rows_does_nothing() {
        let q = runtime::cpu().unwrap();
        for shape in [[0, 3], [0, 0]] {
            run(&q, &shape, 1, Mask::Causal { offset: 0 }).unwrap();
            let keep = q.zeros::<bool>(0).unwrap();
            run(&q, &shape, 1, Mask::Keep(TensorRef::contiguous(keep.view(), &shape).unwrap())).unwrap();
        }
    }

    #[test]
    fn masks_repeat_over_leading_axes_only() {
        let q = runtime::cpu().unwrap();
        let keep = q.upload(&[true; 24]).unwrap();
        let masked = |shape: &[usize], axis| {
            let keep = TensorRef::contiguous(keep.view(), shape).unwrap();
            run(&q, &[2, 3, 4], axis, Mask::Keep(keep))
        };
        for shape in [&[2, 3, 4][..], &[3, 4], &[4]] {
            assert_eq!(masked(shape, 2), Ok(()));
        }
        assert!(matches!(masked(&[2, 3], 2), Err(NnError::ShapeMismatch { tensor: "mask", .. })));
        assert!(matches!(masked(&[4], 1), Err(NnError::ShapeMismatch { tensor: "mask", .. })));
        assert!(matches!(masked(&[1, 2, 3, 4], 2), Err(NnError::ShapeMismatch { tensor: "mask", .. })));
    }

    #[test]
    fn tensors_of_another_shape_and_causal_masks_without_queries_are_refused() {
        let q = runtime::cpu().unwrap();
        let (x, mut y) = (q.zeros::<f32>(6).unwrap(), q.zeros::<f32>(6).unwrap());
        let plan = SoftmaxPlan::new(&[2, 3], 1).unwrap();
        let other = TensorRef::contiguous(x.view(), &[3, 2]).unwrap();
        let [other, turned] = [other, other.transposed().unwrap()]
            .map(|x| plan.softmax(&q, x, Mask::None, TensorMut::contiguous(y.view_mut(), &[2, 3]).unwrap()));
        assert_eq!(other.unwrap_err().to_string(), "`softmax` expected x of shape [2, 3], got [3, 2]");
        assert_eq!((turned, q.download(&y)), (Ok(()), Ok(vec![1.0 / 3.0; 6])));
        let other = TensorMut::contiguous(y.view_mut(), &[3, 2]).unwrap();
        let refused = plan.softmax_in_place(&q, other, Mask::None).unwrap_err();
        assert_eq!(refused.to_string(), "`softmax_in_place` expected x of shape [2, 3], got [3, 2]");
        let other = TensorMut::contiguous(y.view_mut(), &[3, 2]).unwrap();
        let refused = plan.log_softmax_in_place(&q, other, Mask::None).unwrap_err();
        assert_eq!(refused.to_string(), "`log_softmax_in_place` expected x of shape [2, 3], got [3, 2]");
        let turned = TensorMut::contiguous(y.view_mut(), &[3, 2]).unwrap().transposed().unwrap();
        plan.softmax_in_place(&q, turned, Mask::None).unwrap();
        assert_eq!(q.download(&y), Ok(vec![1.0 / 3.0; 6]));
        let causal = run(&q, &[5], 0, Mask::Causal { offset: 0 });
        assert!(matches!(causal, Err(NnError::Parameter { op: "softmax", .. })), "{causal:?}");
    }
}
