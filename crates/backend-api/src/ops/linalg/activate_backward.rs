//! The gradient of an activation function.

use core_types::params::elementwise::Activation;

use crate::{
    BackendError, BufferMut, Queue, Real,
    ops::{Op, op},
};

op! {
    /// `dx = g f'(x)`.
    ///
    /// For ReLU it is g or 0, even where g is infinite, and NaN where `saved` is NaN.
    pub struct ActivateBackward<'a, Q, T: Real> as "activate_backward" {
        /// The function.
        f: plain Activation,
        /// y for functions with [`Activation::saves_output`], x for the others.
        saved: read T,
        /// The gradient with respect to y.
        g: read T,
        /// The gradient with respect to x.
        dx: write T,
    }
}

impl<Q: Queue, T: Real> ActivateBackward<'_, Q, T> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`ElementwiseOps`](super::ElementwiseOps).
    pub fn check(&self) -> Result<(), BackendError> {
        self.expect([self.dx.len(); 3])
    }
}
