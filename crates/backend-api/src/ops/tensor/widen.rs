//! Conversion to f32.

use crate::{
    BackendError, BufferMut, Queue, Real,
    ops::{Op, op},
};

op! {
    /// `y = x`, which is exact.
    pub struct Widen<'a, Q, T: Real> as "widen" {
        /// Any number of elements.
        x: read T,
        /// The results; same length as `x`.
        y: write f32,
    }
}

impl<Q: Queue, T: Real> Widen<'_, Q, T> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`TensorOps`](super::TensorOps).
    pub fn check(&self) -> Result<(), BackendError> {
        self.expect([self.y.len(); 2])
    }
}
