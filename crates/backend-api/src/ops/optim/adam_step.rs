//! A step of Adam.

use core_types::params::optim::{AdamParams, StepState};

use super::shape::check;
use crate::{
    BackendError, BufferMut, Queue, Real,
    ops::{Op, op},
};

op! {
    /// A step of Adam or AdamW ([`AdamParams`]), unless the record leaves it out.
    ///
    /// Each gradient is read once, each moment and weight read and written once.
    pub struct AdamStep<'a, Q, T: Real> as "adam_step" {
        /// Shares and decay.
        params: plain &'a AdamParams,
        /// One record.
        state: read StepState,
        /// Gradients, if they are of type `T`.
        g: read_if T,
        /// Gradients, if they are f32 and `T` is not.
        wide: read_if f32,
        /// First moments; same length as `w`.
        m: write f32,
        /// Second moments; same length as `w`.
        v: write f32,
        /// Weights; same length as the gradients.
        w: write f32,
        /// Optional copy of the updated weights, rounded to `T`, if `T` is a 16-bit type.
        copy: write_if T,
    }
}

impl<Q: Queue, T: Real> AdamStep<'_, Q, T> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`OptimOps`](super::OptimOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let n = self.w.len();
        self.expect([1, n, n, n, n, n, n])?;
        check::<Q, T>(Self::NAME, self.g.as_ref(), self.wide.as_ref(), self.copy.as_ref())
    }
}
