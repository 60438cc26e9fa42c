//! Functions of two tensors with NumPy broadcasting.

use backend_api::{
    Real,
    ops::linalg::{self, ElementwiseOps},
};
use core_types::params::elementwise::{Binary, BinaryParams, MAX_RANK};

use crate::{Layout, NnError, TensorMut, TensorRef};

const OP: &str = "binary";

/// A checked function of two tensors, `y = a op b`, with NumPy broadcasting to the shape of y, which is contiguous.
///
/// ```
/// use backend_api::{Buffer, Queue};
/// use nn_ops::{Binary, BinaryPlan, Layout, TensorMut, TensorRef};
///
/// let q = runtime::cpu()?;
/// let (a, b) = (q.upload(&[1.0f32, 2.0])?, q.upload(&[10.0f32, 20.0, 30.0])?);
/// let mut y = q.zeros::<f32>(6)?;
/// let (a, b) = (TensorRef::contiguous(a.view(), &[2, 1])?, TensorRef::contiguous(b.view(), &[3])?);
/// let plan = BinaryPlan::new(a.layout(), b.layout(), &Layout::contiguous(&[2, 3])?)?;
/// plan.run(&q, Binary::Add, a, b, TensorMut::contiguous(y.view_mut(), &[2, 3])?)?;
/// assert_eq!(q.download(&y)?, [11.0, 21.0, 31.0, 12.0, 22.0, 32.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BinaryPlan {
    a: Layout,
    b: Layout,
    y: Layout,
    wide_a: Layout,
    wide_b: Layout,
}

impl BinaryPlan {
    /// Checks the layouts of a, b and y.
    ///
    /// # Errors
    /// [`NnError::Broadcast`] if an operand does not broadcast, [`NnError::InvalidStride`] if y is not contiguous.
    pub fn new(a: &Layout, b: &Layout, y: &Layout) -> Result<Self, NnError> {
        let shape = y.shape();
        Layout::contiguous(shape)?.admit(OP, "y", y)?;
        Ok(Self { a: *a, b: *b, y: *y, wide_a: a.broadcast_by(OP, shape)?, wide_b: b.broadcast_by(OP, shape)? })
    }

    /// Applies `op` to tensors with the layouts of the plan.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] or [`NnError::InvalidStride`] for a tensor with another layout, [`NnError::Backend`] from the
    /// device.
    pub fn run<Q: ElementwiseOps, T: Real>(
        &self,
        q: &Q,
        op: Binary,
        a: TensorRef<'_, Q, T>,
        b: TensorRef<'_, Q, T>,
        y: TensorMut<'_, Q, T>,
    ) -> Result<(), NnError> {
        let six = |values: &[usize], fill: u64| {
            let mut all = [fill; MAX_RANK];
            all.iter_mut().zip(values).for_each(|(slot, &v)| *slot = v as u64);
            all
        };
        let params = BinaryParams {
            op,
            rank: self.y.rank() as u32,
            shape: six(self.y.shape(), 1),
            a_strides: six(self.wide_a.strides(), 0),
            b_strides: six(self.wide_b.strides(), 0),
        };
        let (a, b) = (a.planned(OP, "a", &self.a)?, b.planned(OP, "b", &self.b)?);
        Ok(q.binary(linalg::Binary { params: &params, a, b, y: y.planned(OP, "y", &self.y)? })?)
    }
}

/// `y = a op b`; see [`BinaryPlan`].
///
/// # Errors
/// As [`BinaryPlan::new`] and [`BinaryPlan::run`].
pub fn binary<Q: ElementwiseOps, T: Real>(
    q: &Q,
    op: Binary,
    a: TensorRef<'_, Q, T>,
    b: TensorRef<'_, Q, T>,
    y: TensorMut<'_, Q, T>,
) -> Result<(), NnError> {
    BinaryPlan::new(a.layout(), b.layout(), y.layout())?.run(q, op, a, b, y)
}
