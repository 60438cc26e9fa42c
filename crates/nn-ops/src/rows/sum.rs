//! Sums of a tensor over one of its axes.

use backend_api::{Mut, Real, Ref, ops::linalg::SumAxis};
use core_types::params::{elementwise::SumParams, rows::AxisParams};

use crate::{
    ElementwiseOps, TensorOps,
    error::Result,
    movement::{Fit, Unpacked},
    tensor::{Layout, TensorMut, TensorRef},
};

const OP: &str = "sum_axis";

/// Checked sums of a tensor over one axis.
///
/// The result has the shape of x without the axis. Tensors that are not row-major are packed by a
/// copy.
///
/// A sum over no elements is zero. Sums do not depend on the number of threads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SumPlan {
    params: SumParams,
    x: Layout,
    pub(crate) y: Layout,
}

impl SumPlan {
    /// A plan for `y = sum of x over axis`, x of `shape`.
    ///
    /// # Errors
    /// [`NnError::Axis`](crate::NnError::Axis) if there is no such axis,
    /// [`NnError::TooManyAxes`](crate::NnError::TooManyAxes) or
    /// [`NnError::Overflow`](crate::NnError::Overflow) if no tensor has the shape.
    pub fn new(shape: &[usize], axis: usize) -> Result<Self> {
        Self::build(shape, axis, false)
    }

    /// A plan for `y += sum of x over axis`.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn accumulating(shape: &[usize], axis: usize) -> Result<Self> {
        Self::build(shape, axis, true)
    }

    /// A plan that adds to the result or overwrites it.
    pub(crate) fn build(shape: &[usize], axis: usize, accumulate: bool) -> Result<Self> {
        let x = Layout::of(OP, shape)?;
        let AxisParams { outer, len, inner } = x.around(OP, axis)?;
        let params = SumParams { outer, len, inner, accumulate: u32::from(accumulate) };
        Ok(Self { params, x, y: Layout::of(OP, &[&shape[..axis], &shape[axis + 1..]].concat())? })
    }

    /// Sums the elements of x.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`](crate::NnError::ShapeMismatch) for a tensor of another shape,
    /// [`NnError::Backend`](crate::NnError::Backend) from the device.
    pub fn run<Q: ElementwiseOps + TensorOps, T: Real>(
        &self,
        q: &Q,
        x: TensorRef<'_, Q, T>,
        y: TensorMut<'_, Q, T>,
    ) -> Result<()> {
        let (mut x, y) = (x.fit(OP, "x", &self.x)?, y.fit(OP, "y", &self.y)?);
        let mut result = Unpacked::new();
        self.launch(q, x.view(q)?, result.writable(q, y, self.params.accumulate != 0)?)?;
        result.finish(q)
    }

    /// Sums views of the plan's elements.
    pub(crate) fn launch<Q: ElementwiseOps, T: Real>(&self, q: &Q, x: Ref<'_, Q, T>, y: Mut<'_, Q, T>) -> Result<()> {
        Ok(q.sum_axis(SumAxis { params: &self.params, x: q.shorten(x), y: q.shorten_mut(y) })?)
    }
}

/// `y = sum of x over axis` or, accumulating, `y += ..`; see [`SumPlan`].
///
/// # Errors
/// As [`SumPlan::new`] and [`SumPlan::run`].
pub fn sum_axis<Q: ElementwiseOps + TensorOps, T: Real>(
    q: &Q,
    x: TensorRef<'_, Q, T>,
    axis: usize,
    accumulate: bool,
    y: TensorMut<'_, Q, T>,
) -> Result<()> {
    SumPlan::build(x.layout().shape(), axis, accumulate)?.run(q, x, y)
}
