//! An activation function of every element, in its place.

use core_types::params::elementwise::Activation;

use crate::{
    BackendError, Queue, Real,
    ops::{Op, op},
};

op! {
    /// `x = f(x)`, with the bits of [`Activate`](crate::ops::linalg::Activate).
    pub struct ActivateInPlace<'a, Q, T: Real> as "activate_in_place" {
        /// The function.
        f: plain Activation,
        /// Number of elements.
        len: plain usize,
        /// The arguments, then the results.
        x: write T,
    }
}

impl<Q: Queue, T: Real> ActivateInPlace<'_, Q, T> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`TensorOps`](super::TensorOps).
    pub fn check(&self) -> Result<(), BackendError> {
        self.expect([self.len])
    }
}
