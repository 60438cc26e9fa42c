//! An activation function of every element.

use core_types::params::elementwise::Activation;

use crate::{
    BackendError, BufferMut, Queue, Real,
    ops::{Op, op},
};

op! {
    /// `y = f(x)`.
    pub struct Activate<'a, Q, T: Real> as "activate" {
        /// The function.
        f: plain Activation,
        /// Its arguments.
        x: read T,
        /// The results; same length as `x`.
        y: write T,
    }
}

impl<Q: Queue, T: Real> Activate<'_, Q, T> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`ElementwiseOps`](super::ElementwiseOps).
    pub fn check(&self) -> Result<(), BackendError> {
        self.expect([self.y.len(); 2])
    }
}
