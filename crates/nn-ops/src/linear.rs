use backend_api::{
    Buffer, Real,
    ops::linalg::{ActivateBackward, ElementwiseOps, GemmOps},
};
use core_types::params::elementwise::Activation;

use crate::{
    GemmPlan, Layout, NnError, Shape, TensorMut, TensorRef, matmul_backward_lhs, matmul_backward_rhs, sum_axis,
};

/// `Y = f(X W + b)` in one pass: X is `[.., m, k]`, W is `[k, n]`, b is `[n]`, contiguous, or left out, Y is `[.., m, n]`.
///
/// ```
/// use backend_api::{Buffer, Queue};
/// use nn_ops::{Activation, TensorMut, TensorRef, linear};
///
/// let q = runtime::cpu()?;
/// let (x, w, b) = (q.upload(&[1.0f32, 2.0])?, q.upload(&[1.0f32, -1.0, 0.5, -0.5])?, q.upload(&[0.0f32, 1.0])?);
/// let mut y = q.zeros::<f32>(2)?;
/// linear(
///     &q,
///     TensorRef::contiguous(x.view(), &[1, 2])?,
///     TensorRef::contiguous(w.view(), &[2, 2])?,
///     Some(TensorRef::contiguous(b.view(), &[2])?),
///     Activation::Relu,
///     TensorMut::contiguous(y.view_mut(), &[1, 2])?,
/// )?;
/// assert_eq!(q.download(&y)?, [2.0, 0.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`matmul`](crate::matmul); [`NnError::ShapeMismatch`] and [`NnError::InvalidStride`] for the bias.
pub fn linear<Q: GemmOps, T: Real>(
    q: &Q,
    x: TensorRef<'_, Q, T>,
    w: TensorRef<'_, Q, T>,
    bias: Option<TensorRef<'_, Q, T>>,
    f: Activation,
    y: TensorMut<'_, Q, T>,
) -> Result<(), NnError> {
    let plan = GemmPlan::new(x.layout(), w.layout(), y.layout())?;
    let n = w.layout().shape().last().copied().unwrap_or(0);
    if let Some(bias) = &bias
        && bias.layout().shape() != [n]
    {
        return Err(NnError::ShapeMismatch { op: "linear", lhs: Shape::from(&[n][..]), rhs: bias.layout().into() });
    }
    let bias = bias.map(|bias| bias.flat("linear")).transpose()?;
    plan.launch(q, x.view(), w.view(), bias, f, y.into_view())
}

/// What [`linear_backward`] adds its results to: the gradients of X, W and b, each with the shape of its operand.
#[derive(Debug)]
pub struct LinearGradients<'a, Q: GemmOps + 'a, T: Real> {
    /// Gradient of X; `None` where nobody needs it (the first layer).
    pub x: Option<TensorMut<'a, Q, T>>,
    /// Gradient of W.
    pub w: TensorMut<'a, Q, T>,
    /// Gradient of b; `None` where there is no bias.
    pub bias: Option<TensorMut<'a, Q, T>>,
}

/// The gradients of [`linear`] for `G = dL/dY`: with `P = X W + b` and `D = G f'(P)`, `dX += D W^T`, `dW += X^T D`,
/// `db +=` column sums of D.
///
/// `saved` is Y for functions with [`Activation::saves_output`], P for the others, and unused for the identity; for ReLU Y serves
/// as well as P. X is a matrix, `g` and `saved` are contiguous.
///
/// # Errors
/// [`NnError::Rank`], [`NnError::ShapeMismatch`] or [`NnError::InvalidStride`] for shapes that do not fit;
/// [`NnError::Backend`] from the device.
pub fn linear_backward<Q: GemmOps + ElementwiseOps, T: Real>(
    q: &Q,
    x: TensorRef<'_, Q, T>,
    w: TensorRef<'_, Q, T>,
    f: Activation,
    saved: TensorRef<'_, Q, T>,
    g: TensorRef<'_, Q, T>,
    grads: LinearGradients<'_, Q, T>,
) -> Result<(), NnError> {
    let &[rows, cols] = g.layout().shape() else {
        return Err(NnError::Rank { op: "linear_backward", expected: 2, got: g.layout().rank() });
    };
    if saved.layout().shape() != g.layout().shape() {
        let (lhs, rhs) = (g.layout().into(), saved.layout().into());
        return Err(NnError::ShapeMismatch { op: "linear_backward", lhs, rhs });
    }
    let (saved, g) = (saved.flat("linear_backward")?, g.flat("linear_backward")?);
    let layout = Layout::contiguous(&[rows, cols])?;
    if f == Activation::Identity {
        return add_gradients(q, x, w, TensorRef::new(g, layout)?, grads);
    }
    let mut d = q.alloc::<T>(layout.numel())?;
    let (of_output, gradient) = (q.shorten(saved), q.shorten(g));
    q.activate_backward(ActivateBackward { f, saved: of_output, g: gradient, dx: d.view_mut() })?;
    add_gradients(q, x, w, TensorRef::new(d.view(), layout)?, grads)
}

/// The gradients of `P = X W + b` for `D = dL/dP`.
fn add_gradients<Q: GemmOps + ElementwiseOps, T: Real>(
    q: &Q,
    x: TensorRef<'_, Q, T>,
    w: TensorRef<'_, Q, T>,
    d: TensorRef<'_, Q, T>,
    grads: LinearGradients<'_, Q, T>,
) -> Result<(), NnError> {
    if let Some(dx) = grads.x {
        matmul_backward_lhs(q, d, w, dx)?;
    }
    matmul_backward_rhs(q, x, d, grads.w)?;
    grads.bias.map_or(Ok(()), |bias| sum_axis(q, d, 0, true, bias))
}
