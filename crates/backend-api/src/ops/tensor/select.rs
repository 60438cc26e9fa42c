//! A choice between two elements.

use crate::{
    BackendError, BufferMut, Queue, Real,
    ops::{Op, op},
};

op! {
    /// y is a where `mask` is true, and b where it is not, to the bit. Operations on what is not chosen leave no trace.
    pub struct Select<'a, Q, T: Real> as "select" {
        /// Which is chosen.
        mask: read bool,
        /// As many elements.
        a: read T,
        /// As many elements.
        b: read T,
        /// As many results.
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
