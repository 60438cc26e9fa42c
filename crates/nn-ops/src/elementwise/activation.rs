//! Functions of single elements: activations, linear combinations, the descent step.

use backend_api::{
    Real,
    ops::linalg::{Activate, ActivateBackward, Axpby, ElementwiseOps},
};
use core_types::params::elementwise::Activation;

use crate::{
    error::NnError,
    tensor::{
        layout::Layout,
        views::{Planned, TensorMut, TensorRef},
    },
};

/// Functions of single elements on row-major tensors of one shape.
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
    /// [`NnError::TooManyAxes`] or [`NnError::Overflow`] if no tensor has the shape.
    pub fn new(shape: &[usize]) -> Result<Self, NnError> {
        Ok(Self { layout: Layout::of("elementwise", shape)? })
    }

    /// The layout of all operands and results.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// `y = f(x)`.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] or [`NnError::InvalidStride`] for a tensor with another layout,
    /// [`NnError::Backend`] from the device.
    pub fn activate<Q: ElementwiseOps, T: Real>(
        &self,
        q: &Q,
        f: Activation,
        x: TensorRef<'_, Q, T>,
        y: TensorMut<'_, Q, T>,
    ) -> Result<(), NnError> {
        const OP: &str = "activate";
        Ok(q.activate(Activate { f, x: x.planned(OP, "x", &self.layout)?, y: y.planned(OP, "y", &self.layout)? })?)
    }

    /// The gradient of [`activate`](Self::activate), `dx = g f'(x)`.
    ///
    /// `saved` is y for functions with [`Activation::saves_output`] and x for the others.
    ///
    /// # Errors
    /// As [`activate`](Self::activate).
    pub fn activate_backward<Q: ElementwiseOps, T: Real>(
        &self,
        q: &Q,
        f: Activation,
        saved: TensorRef<'_, Q, T>,
        g: TensorRef<'_, Q, T>,
        dx: TensorMut<'_, Q, T>,
    ) -> Result<(), NnError> {
        const OP: &str = "activate_backward";
        let (saved, g) = (saved.planned(OP, "saved", &self.layout)?, g.planned(OP, "g", &self.layout)?);
        Ok(q.activate_backward(ActivateBackward { f, saved, g, dx: dx.planned(OP, "dx", &self.layout)? })?)
    }

    /// `y = alpha x + beta y`. With `beta = 0`, y is only written.
    ///
    /// # Errors
    /// As [`activate`](Self::activate).
    pub fn axpby<Q: ElementwiseOps, T: Real>(
        &self,
        q: &Q,
        alpha: f32,
        x: TensorRef<'_, Q, T>,
        beta: f32,
        y: TensorMut<'_, Q, T>,
    ) -> Result<(), NnError> {
        const OP: &str = "axpby";
        let (x, y) = (x.planned(OP, "x", &self.layout)?, y.planned(OP, "y", &self.layout)?);
        Ok(q.axpby(Axpby { alpha, x, beta, y })?)
    }
}

/// `y = f(x)`; see [`ElementwisePlan::activate`].
///
/// # Errors
/// As [`ElementwisePlan::activate`].
pub fn activate<Q: ElementwiseOps, T: Real>(
    q: &Q,
    f: Activation,
    x: TensorRef<'_, Q, T>,
    y: TensorMut<'_, Q, T>,
) -> Result<(), NnError> {
    ElementwisePlan::new(x.layout().shape())?.activate(q, f, x, y)
}

/// `dx = g f'(x)`; see [`ElementwisePlan::activate_backward`].
///
/// # Errors
/// As [`ElementwisePlan::activate_backward`].
pub fn activate_backward<Q: ElementwiseOps, T: Real>(
    q: &Q,
    f: Activation,
    saved: TensorRef<'_, Q, T>,
    g: TensorRef<'_, Q, T>,
    dx: TensorMut<'_, Q, T>,
) -> Result<(), NnError> {
    ElementwisePlan::new(saved.layout().shape())?.activate_backward(q, f, saved, g, dx)
}

/// `y = alpha x + beta y`; see [`ElementwisePlan::axpby`].
///
/// # Errors
/// As [`ElementwisePlan::axpby`].
pub fn axpby<Q: ElementwiseOps, T: Real>(
    q: &Q,
    alpha: f32,
    x: TensorRef<'_, Q, T>,
    beta: f32,
    y: TensorMut<'_, Q, T>,
) -> Result<(), NnError> {
    ElementwisePlan::new(x.layout().shape())?.axpby(q, alpha, x, beta, y)
}
