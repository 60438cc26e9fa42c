use backend_api::{
    Real,
    ops::linalg::{self, Activate, ActivateBackward, Axpby, ElementwiseOps, SumAxis},
};
use core_types::params::elementwise::{Activation, Binary, BinaryParams, MAX_RANK, SumParams};

use crate::{NnError, Shape, TensorMut, TensorRef};

/// `y = f(x)`; equal shapes, both contiguous.
///
/// # Errors
/// [`NnError::ShapeMismatch`], [`NnError::InvalidStride`], or [`NnError::Backend`] from the device.
pub fn activate<Q: ElementwiseOps, T: Real>(
    q: &Q,
    f: Activation,
    x: TensorRef<'_, Q, T>,
    y: TensorMut<'_, Q, T>,
) -> Result<(), NnError> {
    same_shape("activate", &x, &y)?;
    Ok(q.activate(Activate { f, x: x.flat("activate")?, y: y.flat("activate")? })?)
}

/// The gradient of [`activate`]: `dx = g f'(x)`, where `saved` is y for functions with [`Activation::saves_output`] and x for
/// the others.
///
/// # Errors
/// As [`activate`].
pub fn activate_backward<Q: ElementwiseOps, T: Real>(
    q: &Q,
    f: Activation,
    saved: TensorRef<'_, Q, T>,
    g: TensorRef<'_, Q, T>,
    dx: TensorMut<'_, Q, T>,
) -> Result<(), NnError> {
    const OP: &str = "activate_backward";
    same_shape(OP, &saved, &dx)?;
    same_shape(OP, &g, &dx)?;
    Ok(q.activate_backward(ActivateBackward { f, saved: saved.flat(OP)?, g: g.flat(OP)?, dx: dx.flat(OP)? })?)
}

/// `y = a op b` with NumPy broadcasting to the shape of y, which is contiguous.
///
/// ```
/// use backend_api::{Buffer, Queue};
/// use nn_ops::{Binary, TensorMut, TensorRef, binary};
///
/// let q = runtime::cpu()?;
/// let (a, b) = (q.upload(&[1.0f32, 2.0])?, q.upload(&[10.0f32, 20.0, 30.0])?);
/// let mut y = q.zeros::<f32>(6)?;
/// let (a, b) = (TensorRef::contiguous(a.view(), &[2, 1])?, TensorRef::contiguous(b.view(), &[3])?);
/// binary(&q, Binary::Add, a, b, TensorMut::contiguous(y.view_mut(), &[2, 3])?)?;
/// assert_eq!(q.download(&y)?, [11.0, 21.0, 31.0, 12.0, 22.0, 32.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`NnError::ShapeMismatch`] if an operand does not broadcast, [`NnError::InvalidStride`], or [`NnError::Backend`].
pub fn binary<Q: ElementwiseOps, T: Real>(
    q: &Q,
    op: Binary,
    a: TensorRef<'_, Q, T>,
    b: TensorRef<'_, Q, T>,
    y: TensorMut<'_, Q, T>,
) -> Result<(), NnError> {
    let shape = y.layout().shape();
    let (wide_a, wide_b) = (a.layout().broadcast(shape)?, b.layout().broadcast(shape)?);
    let six = |values: &[usize], fill: u64| {
        let mut all = [fill; MAX_RANK];
        all.iter_mut().zip(values).for_each(|(slot, &v)| *slot = v as u64);
        all
    };
    let params = BinaryParams {
        op,
        rank: shape.len() as u32,
        shape: six(shape, 1),
        a_strides: six(wide_a.strides(), 0),
        b_strides: six(wide_b.strides(), 0),
    };
    Ok(q.binary(linalg::Binary {
        params: &params,
        a: q.shorten(a.view()),
        b: q.shorten(b.view()),
        y: y.flat("binary")?,
    })?)
}

/// `y = alpha x + beta y`; equal shapes, both contiguous. With `beta = 0`, y is only written.
///
/// # Errors
/// As [`activate`].
pub fn axpby<Q: ElementwiseOps, T: Real>(
    q: &Q,
    alpha: f32,
    x: TensorRef<'_, Q, T>,
    beta: f32,
    y: TensorMut<'_, Q, T>,
) -> Result<(), NnError> {
    same_shape("axpby", &x, &y)?;
    Ok(q.axpby(Axpby { alpha, x: x.flat("axpby")?, beta, y: y.flat("axpby")? })?)
}

/// One step of gradient descent: `w -= rate g`; equal shapes, both contiguous. Each element is rounded to its type, so weights
/// of 16 bits lose a step below half their last place: keep them in f32 to train.
///
/// # Errors
/// [`NnError::Parameter`] if `rate` is not finite; otherwise as [`activate`].
pub fn sgd_step<Q: ElementwiseOps, T: Real>(
    q: &Q,
    rate: f32,
    g: TensorRef<'_, Q, T>,
    w: TensorMut<'_, Q, T>,
) -> Result<(), NnError> {
    if !rate.is_finite() {
        let value = f64::from(rate);
        return Err(NnError::Parameter { op: "sgd_step", name: "rate", domain: "finite", value });
    }
    axpby(q, -rate, g, 1.0, w)
}

/// `y = sum of x over axis` or, accumulating, `y += ..`; y has the shape of x without the axis. Both are contiguous. A sum over
/// no elements is zero; sums are rounded once and do not depend on the number of threads.
///
/// # Errors
/// [`NnError::Axis`], [`NnError::ShapeMismatch`], [`NnError::InvalidStride`], or [`NnError::Backend`].
pub fn sum_axis<Q: ElementwiseOps, T: Real>(
    q: &Q,
    x: TensorRef<'_, Q, T>,
    axis: usize,
    accumulate: bool,
    y: TensorMut<'_, Q, T>,
) -> Result<(), NnError> {
    const OP: &str = "sum_axis";
    let shape = x.layout().shape();
    let Some(&len) = shape.get(axis) else {
        return Err(NnError::Axis { op: OP, rank: shape.len(), axis });
    };
    let kept = [&shape[..axis], &shape[axis + 1..]].concat();
    if y.layout().shape() != kept {
        return Err(NnError::ShapeMismatch { op: OP, lhs: Shape::from(&kept[..]), rhs: y.layout().into() });
    }
    let size = |axes: &[usize]| axes.iter().product::<usize>() as u64;
    let params = SumParams {
        outer: size(&shape[..axis]),
        len: len as u64,
        inner: size(&shape[axis + 1..]),
        accumulate: u32::from(accumulate),
    };
    Ok(q.sum_axis(SumAxis { params: &params, x: x.flat(OP)?, y: y.flat(OP)? })?)
}

pub(crate) fn same_shape<Q: ElementwiseOps, T: Real>(
    op: &'static str,
    x: &TensorRef<'_, Q, T>,
    y: &TensorMut<'_, Q, T>,
) -> Result<(), NnError> {
    if x.layout().shape() == y.layout().shape() {
        return Ok(());
    }
    Err(NnError::ShapeMismatch { op, lhs: x.layout().into(), rhs: y.layout().into() })
}
