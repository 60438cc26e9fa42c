//! Functions of single elements: activations, linear combinations, the descent step.

use backend_api::{
    Real,
    ops::linalg::{Activate, ActivateBackward, Axpby},
};

use crate::{
    Activation, ElementwiseOps, TensorOps,
    error::Result,
    movement::{Fit, Unpacked},
    tensor::{Layout, TensorMut, TensorRef},
};

/// Functions of single elements on tensors of one shape.
///
/// Tensors have any layout; those that are not row-major are packed by a copy. A function of one
/// tensor in place needs no copy if the elements lie in any order without gaps.
///
/// ```
/// use nn_ops::{Activation, ElementwisePlan, Tensor};
///
/// let q = runtime::cpu()?;
/// let (x, mut y) = (Tensor::from_values(&q, &[2, 2], &[-1.0f32, 2.0, -3.0, 4.0])?, Tensor::alloc(&q, &[2, 2])?);
/// let plan = ElementwisePlan::new(&[2, 2])?;
/// plan.activate(&q, Activation::Relu, x.at(), y.at_mut())?;
/// plan.axpby(&q, 10.0, x.at(), 1.0, y.at_mut())?;
/// assert_eq!(y.values(&q)?, [-10.0, 22.0, -30.0, 44.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElementwisePlan {
    layout: Layout,
}

impl ElementwisePlan {
    /// A plan for tensors of `shape`.
    ///
    /// # Errors
    /// [`NnError::TooManyAxes`](crate::NnError::TooManyAxes) or
    /// [`NnError::Overflow`](crate::NnError::Overflow) if no tensor has the shape.
    pub fn new(shape: &[usize]) -> Result<Self> {
        Ok(Self { layout: Layout::of("elementwise", shape)? })
    }

    /// The row-major layout of the shape, which ops take without copies.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// `y = f(x)`.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`](crate::NnError::ShapeMismatch) for a tensor of another shape,
    /// [`NnError::Backend`](crate::NnError::Backend) from the device.
    pub fn activate<Q: ElementwiseOps + TensorOps, T: Real>(
        &self,
        q: &Q,
        f: Activation,
        x: TensorRef<'_, Q, T>,
        y: TensorMut<'_, Q, T>,
    ) -> Result<()> {
        const OP: &str = "activate";
        let (mut x, y) = (x.fit(OP, "x", &self.layout)?, y.fit(OP, "y", &self.layout)?);
        let mut result = Unpacked::new();
        let (len, x) = (self.layout.numel(), Some(x.view(q)?));
        q.activate(Activate { f, len, x, y: result.target(q, y)? })?;
        result.finish(q)
    }

    /// The gradient of [`activate`](Self::activate), `dx = g f'(x)`.
    ///
    /// `saved` is y for functions with [`Activation::saves_output`] and x for the others.
    ///
    /// # Errors
    /// As [`activate`](Self::activate).
    pub fn activate_backward<Q: ElementwiseOps + TensorOps, T: Real>(
        &self,
        q: &Q,
        f: Activation,
        saved: TensorRef<'_, Q, T>,
        g: TensorRef<'_, Q, T>,
        dx: TensorMut<'_, Q, T>,
    ) -> Result<()> {
        const OP: &str = "activate_backward";
        let (mut saved, mut g) = (saved.fit(OP, "saved", &self.layout)?, g.fit(OP, "g", &self.layout)?);
        let (dx, mut result) = (dx.fit(OP, "dx", &self.layout)?, Unpacked::new());
        let (saved, g, dx) = (saved.view(q)?, g.view(q)?, result.target(q, dx)?);
        q.activate_backward(ActivateBackward { f, saved, g, dx })?;
        result.finish(q)
    }

    /// `y = alpha x + beta y`. With `beta = 0`, y is only written.
    ///
    /// # Errors
    /// As [`activate`](Self::activate).
    pub fn axpby<Q: ElementwiseOps + TensorOps, T: Real>(
        &self,
        q: &Q,
        alpha: f32,
        x: TensorRef<'_, Q, T>,
        beta: f32,
        y: TensorMut<'_, Q, T>,
    ) -> Result<()> {
        const OP: &str = "axpby";
        let (mut x, y) = (x.fit(OP, "x", &self.layout)?, y.fit(OP, "y", &self.layout)?);
        let mut result = Unpacked::new();
        q.axpby(Axpby { alpha, x: x.view(q)?, beta, y: result.writable(q, y, beta != 0.0)? })?;
        result.finish(q)
    }
}

/// `y = f(x)`; see [`ElementwisePlan::activate`].
///
/// # Errors
/// As [`ElementwisePlan::activate`].
pub fn activate<Q: ElementwiseOps + TensorOps, T: Real>(
    q: &Q,
    f: Activation,
    x: TensorRef<'_, Q, T>,
    y: TensorMut<'_, Q, T>,
) -> Result<()> {
    ElementwisePlan::new(x.layout().shape())?.activate(q, f, x, y)
}

/// `dx = g f'(x)`; see [`ElementwisePlan::activate_backward`].
///
/// # Errors
/// As [`ElementwisePlan::activate_backward`].
pub fn activate_backward<Q: ElementwiseOps + TensorOps, T: Real>(
    q: &Q,
    f: Activation,
    saved: TensorRef<'_, Q, T>,
    g: TensorRef<'_, Q, T>,
    dx: TensorMut<'_, Q, T>,
) -> Result<()> {
    ElementwisePlan::new(saved.layout().shape())?.activate_backward(q, f, saved, g, dx)
}

/// `y = alpha x + beta y`; see [`ElementwisePlan::axpby`].
///
/// # Errors
/// As [`ElementwisePlan::axpby`].
pub fn axpby<Q: ElementwiseOps + TensorOps, T: Real>(
    q: &Q,
    alpha: f32,
    x: TensorRef<'_, Q, T>,
    beta: f32,
    y: TensorMut<'_, Q, T>,
) -> Result<()> {
    ElementwisePlan::new(x.layout().shape())?.axpby(q, alpha, x, beta, y)
}
