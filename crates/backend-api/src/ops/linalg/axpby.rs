//! The weighted sum of two vectors, in place of one of them.

use crate::{
    BackendError, BufferMut, Queue, Real,
    ops::{Op, op},
};

op! {
    /// `y = alpha x + beta y`. With `beta = 0`, y is not read.
    pub struct Axpby<'a, Q, T: Real> as "axpby" {
        /// Factor of x.
        alpha: plain f32,
        /// The addend.
        x: read T,
        /// Factor of y.
        beta: plain f32,
        /// The result; same length as `x`.
        y: write T,
    }
}

impl<Q: Queue, T: Real> Axpby<'_, Q, T> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`ElementwiseOps`](super::ElementwiseOps).
    pub fn check(&self) -> Result<(), BackendError> {
        self.expect([self.y.len(); 2])
    }
}
