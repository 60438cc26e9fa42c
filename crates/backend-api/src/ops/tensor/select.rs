//! A choice between two elements.

use crate::{
    BackendError, BufferMut, Queue, Real,
    ops::{Op, op},
};

op! {
    /// `y` is `a` where `mask` is true and `b` where it is false, bit for bit.
    ///
    /// The other operand has no effect.
    pub struct Select<'a, Q, T: Real> as "select" {
        /// Which is chosen.
        mask: read bool,
        /// Taken where the mask is true; same length as `mask`.
        a: read T,
        /// Taken where the mask is false; same length as `mask`.
        b: read T,
        /// The results; same length as `mask`.
        y: write T,
    }
}

impl<Q: Queue, T: Real> Select<'_, Q, T> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`TensorOps`](super::TensorOps).
    pub fn check(&self) -> Result<(), BackendError> {
        self.expect([self.y.len(); 4])
    }
}
