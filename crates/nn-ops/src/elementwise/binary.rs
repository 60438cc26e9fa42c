//! Functions of two tensors with NumPy broadcasting.

use backend_api::{
    Real,
    ops::linalg::{self, BinaryScalar},
};
use core_types::params::elementwise::{BinaryParams, BinaryScalarParams};

use crate::{
    Binary, ElementwiseOps, TensorOps,
    error::{NnError, Result},
    movement::{Fit, Unpacked},
    tensor::{Layout, Planned, TensorMut, TensorRef},
};

const OP: &str = "binary";

/// A checked function of two tensors, `y = a op b`, with NumPy broadcasting.
///
/// Operands are broadcast to the shape of y, which is contiguous.
///
/// ```
/// use nn_ops::{Binary, BinaryPlan, Tensor};
///
/// let q = runtime::cpu()?;
/// let a = Tensor::from_values(&q, &[2, 1], &[1.0f32, 2.0])?;
/// let b = Tensor::from_values(&q, &[3], &[10.0f32, 20.0, 30.0])?;
/// let mut y = Tensor::alloc(&q, &[2, 3])?;
/// BinaryPlan::new(a.layout(), b.layout(), y.layout())?.run(&q, Binary::Add, a.at(), b.at(), y.at_mut())?;
/// assert_eq!(y.values(&q)?, [11.0, 21.0, 31.0, 12.0, 22.0, 32.0]);
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
    /// [`NnError::Broadcast`] if an operand does not broadcast, [`NnError::InvalidStride`] if y is
    /// not contiguous.
    pub fn new(a: &Layout, b: &Layout, y: &Layout) -> Result<Self> {
        let shape = y.shape();
        Layout::contiguous(shape)?.admit(OP, "y", y)?;
        Ok(Self { a: *a, b: *b, y: *y, wide_a: a.broadcast_by(OP, shape)?, wide_b: b.broadcast_by(OP, shape)? })
    }

    /// Applies `op` to tensors with the layouts of the plan.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] or [`NnError::InvalidStride`] for a tensor with another layout,
    /// [`NnError::Backend`] from the device.
    pub fn run<Q: ElementwiseOps, T: Real>(
        &self,
        q: &Q,
        op: Binary,
        a: TensorRef<'_, Q, T>,
        b: TensorRef<'_, Q, T>,
        y: TensorMut<'_, Q, T>,
    ) -> Result<()> {
        let params = self.params(op, &self.wide_a);
        let (a, b) = (a.planned(OP, "a", &self.a)?, b.planned(OP, "b", &self.b)?);
        Ok(q.binary(linalg::Binary { params: &params, a: Some(a), b, y: y.planned(OP, "y", &self.y)? })?)
    }

    /// Applies `op` in place of its first operand: `y = y op b`.
    ///
    /// The result has the bits of [`run`](Self::run). y has the shape of the plan's y and any
    /// layout; if it is not row-major, it is packed by a copy.
    ///
    /// # Errors
    /// [`NnError::Broadcast`] unless the plan's a has the shape of y; otherwise as
    /// [`run`](Self::run).
    pub fn run_in_place<Q: ElementwiseOps + TensorOps, T: Real>(
        &self,
        q: &Q,
        op: Binary,
        y: TensorMut<'_, Q, T>,
        b: TensorRef<'_, Q, T>,
    ) -> Result<()> {
        const OP: &str = "binary_in_place";
        if self.a.shape() != self.y.shape() {
            return Err(NnError::Broadcast { op: OP, lhs: (&self.y).into(), rhs: (&self.a).into() });
        }
        let (y, b) = (y.fit(OP, "y", &self.y)?, b.planned(OP, "b", &self.b)?);
        let (params, mut result) = (self.params(op, &self.y), Unpacked::new());
        q.binary(linalg::Binary { params: &params, a: None, b, y: result.updated(q, y)? })?;
        result.finish(q)
    }

    /// The launch record, for an operand a that lies like this.
    fn params(&self, op: Binary, a: &Layout) -> BinaryParams {
        BinaryParams {
            op,
            rank: self.y.rank() as u32,
            shape: self.y.six_lengths(),
            a_strides: a.six_strides(),
            b_strides: self.wide_b.six_strides(),
        }
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
) -> Result<()> {
    BinaryPlan::new(a.layout(), b.layout(), y.layout())?.run(q, op, a, b, y)
}

/// `y = x op value`, with `value` rounded to `T`, in one pass.
///
/// The number needs no tensor. x is broadcast to the shape of y, which is contiguous.
///
/// ```
/// use nn_ops::{Binary, Tensor, binary_scalar};
///
/// let q = runtime::cpu()?;
/// let (x, mut y) = (Tensor::from_values(&q, &[2], &[1.0f32, 5.0])?, Tensor::alloc(&q, &[2])?);
/// binary_scalar(&q, Binary::Max, x.at(), 2.0, y.at_mut())?;
/// assert_eq!(y.values(&q)?, [2.0, 5.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`NnError::Broadcast`] if x does not broadcast, [`NnError::InvalidStride`] if y is not
/// contiguous, [`NnError::Backend`] from the device.
pub fn binary_scalar<Q: ElementwiseOps, T: Real>(
    q: &Q,
    op: Binary,
    x: TensorRef<'_, Q, T>,
    value: f32,
    y: TensorMut<'_, Q, T>,
) -> Result<()> {
    const OP: &str = "binary_scalar";
    let (from, to) = (x.layout().broadcast_by(OP, y.layout().shape())?, Layout::contiguous(y.layout().shape())?);
    let params = BinaryScalarParams {
        op,
        value,
        rank: to.rank() as u32,
        reserved: 0,
        shape: to.six_lengths(),
        x_strides: from.six_strides(),
    };
    let x = x.planned(OP, "x", x.layout())?;
    Ok(q.binary_scalar(BinaryScalar { params: &params, x, y: y.planned(OP, "y", &to)? })?)
}

/// `y = y op b`, y of any layout; see [`BinaryPlan::run_in_place`].
///
/// ```
/// use nn_ops::{Binary, Tensor, binary_in_place};
///
/// let q = runtime::cpu()?;
/// let mut y = Tensor::from_values(&q, &[2, 2], &[1.0f32, 5.0, 3.0, 4.0])?;
/// let b = Tensor::from_values(&q, &[2], &[2.0f32, 4.0])?;
/// binary_in_place(&q, Binary::Max, y.at_mut(), b.at())?;
/// assert_eq!(y.values(&q)?, [2.0, 5.0, 3.0, 4.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`BinaryPlan::new`] and [`BinaryPlan::run_in_place`].
pub fn binary_in_place<Q: ElementwiseOps + TensorOps, T: Real>(
    q: &Q,
    op: Binary,
    y: TensorMut<'_, Q, T>,
    b: TensorRef<'_, Q, T>,
) -> Result<()> {
    let plan = Layout::contiguous(y.layout().shape())?;
    BinaryPlan::new(&plan, b.layout(), &plan)?.run_in_place(q, op, y, b)
}

#[cfg(test)]
mod tests {
    use backend_api::{Buffer, Queue};

    use super::*;

    #[test]
    fn results_with_gaps_are_refused() {
        let [packed, with_gaps] = [[3, 1], [4, 1]].map(|strides| Layout::strided(&[2, 3], &strides).unwrap());
        assert!(BinaryPlan::new(&with_gaps, &packed, &packed).is_ok());
        assert!(matches!(BinaryPlan::new(&packed, &packed, &with_gaps), Err(NnError::InvalidStride { .. })));
        let q = runtime::cpu().unwrap();
        let (x, mut y) = (q.zeros::<f32>(6).unwrap(), q.zeros::<f32>(7).unwrap());
        let (x, y) = (TensorRef::new(x.view(), packed).unwrap(), TensorMut::new(y.view_mut(), with_gaps).unwrap());
        let refused = binary_scalar(&q, Binary::Add, x, 1.0, y);
        assert!(matches!(refused, Err(NnError::InvalidStride { op: "binary_scalar", tensor: "y", .. })), "{refused:?}");
        // A result in place has any layout, but the shape of the plan.
        let (plan, mut y) = (BinaryPlan::new(&packed, &packed, &packed).unwrap(), q.upload(&[1.0f32; 7]).unwrap());
        let b = q.upload(&[2.0f32; 6]).unwrap();
        let b = || TensorRef::new(b.view(), packed).unwrap();
        let into = TensorMut::new(y.view_mut(), with_gaps).unwrap();
        plan.run_in_place(&q, Binary::Add, into, b()).unwrap();
        assert_eq!(q.download(&y), Ok(vec![3.0, 3.0, 3.0, 1.0, 3.0, 3.0, 3.0]));
        let turned = TensorMut::contiguous(y.view_mut(), &[3, 2]).unwrap();
        let refused = plan.run_in_place(&q, Binary::Add, turned, b());
        assert!(matches!(refused, Err(NnError::ShapeMismatch { op: "binary_in_place", tensor: "y", .. })));
    }

    #[test]
    fn tensors_without_elements_are_combined_in_place() {
        let q = runtime::cpu().unwrap();
        let (mut y, b) = (q.zeros::<f32>(0).unwrap(), q.zeros::<f32>(3).unwrap());
        for shape in [&[2, 0, 3][..], &[0, 3], &[3, 0]] {
            let y = TensorMut::contiguous(y.view_mut(), shape).unwrap();
            let b = TensorRef::contiguous(b.view(), &shape[shape.len() - 1..]).unwrap();
            assert_eq!(binary_in_place(&q, Binary::Add, y, b), Ok(()), "{shape:?}");
        }
    }
}
