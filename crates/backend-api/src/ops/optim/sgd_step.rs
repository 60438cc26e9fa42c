//! A step of stochastic gradient descent.

use core_types::params::optim::{SgdParams, StepState};

use super::shape::check;
use crate::{
    BackendError, BufferMut, Queue, Real,
    ops::{Op, op},
};

op! {
    /// A step of stochastic gradient descent ([`SgdParams`]), unless the record leaves it out.
    ///
    /// Each gradient is read once, each running sum and weight read and written once.
    pub struct SgdStep<'a, Q, T: Real> as "sgd_step" {
        /// Momentum and decay.
        params: plain &'a SgdParams,
        /// One record.
        state: read StepState,
        /// Gradients, if they are of type `T`.
        g: read_if T,
        /// Gradients, if they are f32 and `T` is not.
        wide: read_if f32,
        /// Running sums, same length as `w`; none without momentum.
        v: write_if f32,
        /// Weights; same length as the gradients.
        w: write f32,
        /// Optional copy of the updated weights, rounded to `T`, if `T` is a 16-bit type.
        copy: write_if T,
    }
}

impl<Q: Queue, T: Real> SgdStep<'_, Q, T> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`OptimOps`](super::OptimOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let n = self.w.len();
        self.expect([1, n, n, n, n, n])?;
        check::<Q, T>(Self::NAME, self.g.as_ref(), self.wide.as_ref(), self.copy.as_ref())?;
        if self.v.is_none() && self.params.momentum != 0.0 {
            return Err(BackendError::Unsupported { op: Self::NAME, why: "momentum needs running sums" });
        }
        Ok(())
    }
}
