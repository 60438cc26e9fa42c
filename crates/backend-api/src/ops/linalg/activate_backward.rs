//! The gradient of an activation function.

use core_types::params::elementwise::Activation;

use crate::{
    BackendError, BufferMut, Queue, Real,
    ops::{Op, op},
};

op! {
    /// `dx = g f'(x)`. For ReLU it is g or 0, also where g is infinite, and NaN where `saved` is.
    pub struct ActivateBackward<'a, Q, T: Real> as "activate_backward" {
        /// The function.
        f: plain Activation,
        /// y for functions with [`Activation::saves_output`], x for the others.
        saved: read T,
        /// The gradient by y.
        g: read T,
        /// The gradient by x.
        dx: write T,
    }
}

impl<Q: Queue, T: Real> ActivateBackward<'_, Q, T> {
    /// Refuses what is no op.
    ///
    /// # Errors
    /// See [`ElementwiseOps`](super::ElementwiseOps).
    pub fn check(&self) -> Result<(), BackendError> {
        self.expect([self.dx.len(); 3])
    }
}
