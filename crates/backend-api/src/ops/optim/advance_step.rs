//! The record of steps, taken to the next one.

use core_types::params::optim::{AdvanceParams, StepState};

use crate::{
    BackendError, BufferRef, Queue,
    ops::{Op, op},
};

op! {
    /// Advances the record to the next step ([`AdvanceParams::advance`]).
    ///
    /// This sets the rate and the corrections. The norm of the gradients determines their factor,
    /// whether the step is left out, and the next loss scale.
    pub struct AdvanceStep<'a, Q> as "advance_step" {
        /// Schedule, limits and shares.
        params: plain &'a AdvanceParams,
        /// Sums of squares of the gradients, see [`SquareSums`](super::SquareSums).
        ///
        /// Absent if the norm is not needed; then no step is left out.
        sums: read_if f64,
        /// One record.
        state: write StepState,
    }
}

impl<Q: Queue> AdvanceStep<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`OptimOps`](super::OptimOps).
    pub fn check(&self) -> Result<(), BackendError> {
        self.expect([self.sums.as_ref().map_or(0, |sums| sums.len()), 1])
    }
}
