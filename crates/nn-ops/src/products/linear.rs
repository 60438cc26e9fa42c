//! Dense layers `f(X W + b)` in one product, and their gradients.

use backend_api::{Buffer, Real};

use super::matmul::{GemmPlan, NamedLayout};
use crate::{
    Activation, ElementwiseOps, GemmOps, TensorOps,
    elementwise::ElementwisePlan,
    error::{NnError, Result},
    movement::{Fit, Unpacked},
    rows::SumPlan,
    tensor::{Layout, Planned, TensorMut, TensorRef},
};

const OP: &str = "linear";
const BACKWARD: &str = "linear_backward";

/// The operands of a dense layer `f(X W + b)`.
#[derive(Clone, Copy, Debug)]
pub struct LinearOperands<'a, Q: GemmOps + 'a, T: Real> {
    /// X, `[.., m, k]`.
    pub x: TensorRef<'a, Q, T>,
    /// W, `[k, n]`.
    pub w: TensorRef<'a, Q, T>,
    /// b, `[n]` and contiguous, if there is a bias.
    pub bias: Option<TensorRef<'a, Q, T>>,
}

/// A checked dense layer `Y = f(X W + b)` in one pass.
///
/// X is `[.., m, k]`, W is `[k, n]` and Y is `[.., m, n]`. b is `[n]` and contiguous, or left out.
///
/// ```
/// use nn_ops::{Activation, LinearOperands, LinearPlan, Tensor};
///
/// let q = runtime::cpu()?;
/// let x = Tensor::from_values(&q, &[1, 2], &[1.0f32, 2.0])?;
/// let w = Tensor::from_values(&q, &[2, 2], &[1.0f32, -1.0, 0.5, -0.5])?;
/// let (b, mut y) = (Tensor::from_values(&q, &[2], &[0.0f32, 1.0])?, Tensor::alloc(&q, &[1, 2])?);
/// let plan = LinearPlan::new(x.layout(), w.layout(), Activation::Relu, y.layout())?;
/// plan.run(&q, LinearOperands { x: x.at(), w: w.at(), bias: Some(b.at()) }, y.at_mut())?;
/// assert_eq!(y.values(&q)?, [2.0, 0.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LinearPlan {
    product: GemmPlan,
    bias: Layout,
}

impl LinearPlan {
    /// Checks the layouts of X, W and Y.
    ///
    /// # Errors
    /// As [`GemmPlan::new`].
    pub fn new(x: &Layout, w: &Layout, f: Activation, y: &Layout) -> Result<Self> {
        let product = GemmPlan::build(OP, [("x", x), ("w", w), ("y", y)], f, false)?;
        let columns = w.shape().last().copied().unwrap_or(0);
        Ok(Self { product, bias: Layout::of(OP, &[columns])? })
    }

    /// Runs the layer on tensors with the layouts of the plan.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] or [`NnError::InvalidStride`] for a tensor with another layout,
    /// [`NnError::Backend`] from the device.
    pub fn run<Q: GemmOps, T: Real>(
        &self,
        q: &Q,
        operands: LinearOperands<'_, Q, T>,
        y: TensorMut<'_, Q, T>,
    ) -> Result<()> {
        let (LinearOperands { x, w, bias }, product) = (operands, &self.product);
        let (x, w) = (x.planned(OP, "x", &product.a)?, w.planned(OP, "w", &product.b)?);
        let bias = bias.planned(OP, "bias", &self.bias)?;
        product.launch(q, x, w, bias, y.planned(OP, "y", &product.c)?)
    }
}

/// Where the gradients of X, W and b go, each with the shape of its operand and any layout.
///
/// A gradient that is not row-major is packed by a copy.
#[derive(Debug)]
pub struct LinearGradients<'a, Q: GemmOps + 'a, T: Real> {
    /// Gradient of X; `None` if it is not needed (the first layer).
    pub x: Option<TensorMut<'a, Q, T>>,
    /// Gradient of W.
    pub w: TensorMut<'a, Q, T>,
    /// Gradient of b; `None` where there is no bias.
    pub bias: Option<TensorMut<'a, Q, T>>,
}

/// The checked gradients of `P = X W + b` from `D = dL/dP`.
///
/// `dX = D W^T`, `dW = X^T D`, and db is the column sums of D. The matrices are X, `[m, k]`, W,
/// `[k, n]`, and D, row-major `[m, n]`.
///
/// For a layer with an activation, D is what [`ElementwisePlan::activate_backward`] makes of dL/dY.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearBackwardPlan {
    of_x: GemmPlan,
    of_w: GemmPlan,
    of_bias: SumPlan,
    x: Layout,
    w: Layout,
    d: Layout,
    accumulates: bool,
}

impl LinearBackwardPlan {
    /// A plan that overwrites the gradients.
    ///
    /// # Errors
    /// [`NnError::Rank`] unless X and W are matrices, [`NnError::ShapeMismatch`] if they do not
    /// fit, [`NnError::InvalidStride`] if one has no stride of 1.
    pub fn new(x: &Layout, w: &Layout) -> Result<Self> {
        Self::build(x, w, false)
    }

    /// A plan that adds to the gradients.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn accumulating(x: &Layout, w: &Layout) -> Result<Self> {
        Self::build(x, w, true)
    }

    fn build(x: &Layout, w: &Layout, accumulate: bool) -> Result<Self> {
        let ([m, k], [rows, n]) = (x.lengths(BACKWARD, "x")?, w.lengths(BACKWARD, "w")?);
        if rows != k {
            return Err(NnError::shape(BACKWARD, "w", [k, n], w));
        }
        let (d, dx, dw) =
            (Layout::of(BACKWARD, &[m, n])?, Layout::of(BACKWARD, &[m, k])?, Layout::of(BACKWARD, &[k, n])?);
        let product =
            |layouts: [NamedLayout<'_>; 3]| GemmPlan::build(BACKWARD, layouts, Activation::Identity, accumulate);
        Ok(Self {
            of_x: product([("d", &d), ("w transposed", &w.transposed()?), ("dx", &dx)])?,
            of_w: product([("x transposed", &x.transposed()?), ("d", &d), ("dw", &dw)])?,
            of_bias: SumPlan::build(&[m, n], 0, accumulate)?,
            x: *x,
            w: *w,
            d,
            accumulates: accumulate,
        })
    }

    /// Computes the gradients of operands with the layouts of the plan.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] or [`NnError::InvalidStride`] for a tensor with another layout,
    /// [`NnError::Backend`] from the device.
    pub fn run<Q: GemmOps + ElementwiseOps + TensorOps, T: Real>(
        &self,
        q: &Q,
        x: TensorRef<'_, Q, T>,
        w: TensorRef<'_, Q, T>,
        d: TensorRef<'_, Q, T>,
        gradients: LinearGradients<'_, Q, T>,
    ) -> Result<()> {
        let (x, w) = (x.planned(BACKWARD, "x", &self.x)?, w.planned(BACKWARD, "w", &self.w)?);
        let d = d.planned(BACKWARD, "d", &self.d)?;
        let dx = gradients.x.fit(BACKWARD, "dx", &self.of_x.c)?;
        let dw = gradients.w.fit(BACKWARD, "dw", &self.of_w.c)?;
        let db = gradients.bias.fit(BACKWARD, "db", &self.of_bias.y)?;
        // One copy at a time, of a gradient that is not row-major.
        if let Some(dx) = dx {
            let mut result = Unpacked::new();
            self.of_x.launch(q, d, w, None, result.writable(q, dx, self.accumulates)?)?;
            result.finish(q)?;
        }
        let mut result = Unpacked::new();
        self.of_w.launch(q, x, d, None, result.writable(q, dw, self.accumulates)?)?;
        result.finish(q)?;
        if let Some(db) = db {
            let mut result = Unpacked::new();
            self.of_bias.launch(q, d, result.writable(q, db, self.accumulates)?)?;
            result.finish(q)?;
        }
        Ok(())
    }
}

/// `Y = f(X W + b)`; see [`LinearPlan`].
///
/// # Errors
/// As [`LinearPlan::new`] and [`LinearPlan::run`].
pub fn linear<Q: GemmOps, T: Real>(
    q: &Q,
    operands: LinearOperands<'_, Q, T>,
    f: Activation,
    y: TensorMut<'_, Q, T>,
) -> Result<()> {
    LinearPlan::new(operands.x.layout(), operands.w.layout(), f, y.layout())?.run(q, operands, y)
}

/// Values of a forward pass by [`linear`] that [`linear_backward`] needs.
#[derive(Clone, Copy, Debug)]
pub struct LinearSaved<'a, Q: GemmOps + 'a, T: Real> {
    /// X, `[m, k]`.
    pub x: TensorRef<'a, Q, T>,
    /// W, `[k, n]`.
    pub w: TensorRef<'a, Q, T>,
    /// The activation.
    pub f: Activation,
    /// Y for functions with [`Activation::saves_output`], `P = X W + b` for the others.
    ///
    /// Row-major `[m, n]`. For ReLU, Y works as well as P; the identity does not use it.
    pub saved: TensorRef<'a, Q, T>,
}

/// Adds the gradients of [`linear`] for `G = dL/dY`.
///
/// With `P = X W + b` and `D = G f'(P)`, these are `dX += D W^T`, `dW += X^T D`, and `db +=` column
/// sums of D.
///
/// `g` is row-major `[m, n]`. A function other than the identity needs memory for D; with
/// [`LinearBackwardPlan`] the caller supplies D.
///
/// # Errors
/// As [`LinearBackwardPlan::new`], [`LinearBackwardPlan::run`] and
/// [`activate_backward`](crate::activate_backward).
pub fn linear_backward<Q: GemmOps + ElementwiseOps + TensorOps, T: Real>(
    q: &Q,
    pass: LinearSaved<'_, Q, T>,
    g: TensorRef<'_, Q, T>,
    gradients: LinearGradients<'_, Q, T>,
) -> Result<()> {
    let LinearSaved { x, w, f, saved } = pass;
    let plan = LinearBackwardPlan::accumulating(x.layout(), w.layout())?;
    plan.d.admit(BACKWARD, "saved", saved.layout())?;
    plan.d.admit(BACKWARD, "g", g.layout())?;
    // Before D takes memory.
    let LinearGradients { x: dx, w: dw, bias: db } = &gradients;
    for (name, expected, got) in [
        ("dx", &plan.of_x.c, dx.as_ref().map(TensorMut::layout)),
        ("dw", &plan.of_w.c, Some(dw.layout())),
        ("db", &plan.of_bias.y, db.as_ref().map(TensorMut::layout)),
    ] {
        got.map_or(Ok(()), |got| expected.admit_shape(BACKWARD, name, got))?;
    }
    if f == Activation::Identity {
        return plan.run(q, x, w, g, gradients);
    }
    let mut d = q.alloc::<T>(plan.d.numel())?;
    let slopes = ElementwisePlan::new(plan.d.shape())?;
    slopes.activate_backward(q, f, saved, g, TensorMut::new(d.view_mut(), plan.d)?)?;
    plan.run(q, x, w, TensorRef::new(d.view(), plan.d)?, gradients)
}
