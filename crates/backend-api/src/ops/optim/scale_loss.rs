//! A gradient times the loss scale.

use core_types::params::optim::StepState;

use crate::{
    BackendError, BufferMut, Queue, Real,
    ops::{Op, op},
};

op! {
    /// `y = scale x` with the loss scale of the record, rounded to `T`.
    ///
    /// It starts a backward pass in 16 bits.
    pub struct ScaleLoss<'a, Q, T: Real> as "scale_loss" {
        /// One record.
        state: read StepState,
        /// The gradient of a loss.
        x: read f32,
        /// The results; same length as `x`.
        y: write T,
    }
}

impl<Q: Queue, T: Real> ScaleLoss<'_, Q, T> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`OptimOps`](super::OptimOps).
    pub fn check(&self) -> Result<(), BackendError> {
        self.expect([1, self.y.len(), self.y.len()])
    }
}
