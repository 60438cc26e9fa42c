use core_types::params::elementwise::{Activation, BinaryParams, DropoutParams, SumParams};

use crate::{BackendError, Mut, Queue, Real, Ref};

/// Maps over elements and sums over an axis. Views of one call have equal lengths unless stated otherwise.
pub trait ElementwiseOps: Queue {
    /// `y = f(x)`.
    ///
    /// # Errors
    /// [`BackendError::Length`] if the lengths differ.
    fn activate<T: Real>(&self, f: Activation, x: Ref<'_, Self, T>, y: Mut<'_, Self, T>) -> Result<(), BackendError>;

    /// `x = f(x)`, in place.
    ///
    /// # Errors
    /// Whatever the device fails with.
    fn activate_in_place<T: Real>(&self, f: Activation, x: Mut<'_, Self, T>) -> Result<(), BackendError>;

    /// `dx = g f'(x)`, where `saved` is y for functions with [`Activation::saves_output`] and x for the others. For ReLU it is
    /// g or 0, also where g is infinite, and NaN where `saved` is.
    ///
    /// # Errors
    /// [`BackendError::Length`] if the lengths differ.
    fn activate_backward<T: Real>(
        &self,
        f: Activation,
        saved: Ref<'_, Self, T>,
        g: Ref<'_, Self, T>,
        dx: Mut<'_, Self, T>,
    ) -> Result<(), BackendError>;

    /// `y = f(a, b)` with broadcasting by zero strides.
    ///
    /// # Errors
    /// [`BackendError::Length`] if a view is shorter than the strides reach.
    fn binary<T: Real>(
        &self,
        p: &BinaryParams,
        a: Ref<'_, Self, T>,
        b: Ref<'_, Self, T>,
        y: Mut<'_, Self, T>,
    ) -> Result<(), BackendError>;

    /// `y = alpha x + beta y`. With `beta = 0`, y is not read.
    ///
    /// # Errors
    /// [`BackendError::Length`] if the lengths differ.
    fn axpby<T: Real>(
        &self,
        alpha: f32,
        x: Ref<'_, Self, T>,
        beta: f32,
        y: Mut<'_, Self, T>,
    ) -> Result<(), BackendError>;

    /// Sums over an axis in f32, in an order that depends on the shape alone.
    ///
    /// # Errors
    /// [`BackendError::Length`] if a view does not have the size of its shape.
    fn sum_axis<T: Real>(&self, p: &SumParams, x: Ref<'_, Self, T>, y: Mut<'_, Self, T>) -> Result<(), BackendError>;

    /// `y = x keep scale`. The mask depends on the logical index of an element alone, so the same call on the gradient is the
    /// backward pass.
    ///
    /// # Errors
    /// [`BackendError::Length`] if the lengths differ.
    fn dropout<T: Real>(&self, p: &DropoutParams, x: Ref<'_, Self, T>, y: Mut<'_, Self, T>)
    -> Result<(), BackendError>;
}
