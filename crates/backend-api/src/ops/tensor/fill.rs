//! One value for every element.

use crate::{
    BackendError, Queue, Real,
    ops::{Op, op},
};

op! {
    /// `y = value`, rounded to `T`.
    pub struct Fill<'a, Q, T: Real> as "fill" {
        /// What y is filled with.
        value: plain f32,
        /// Number of elements.
        len: plain usize,
        /// That many.
        y: write T,
    }
}

impl<Q: Queue, T: Real> Fill<'_, Q, T> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`TensorOps`](super::TensorOps).
    pub fn check(&self) -> Result<(), BackendError> {
        self.expect([self.len])
    }
}
