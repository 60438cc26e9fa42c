//! Dropout by a mask that is computed from a seed.

use core_types::params::{elementwise::DropoutParams, optim::StepState};

use crate::{
    BackendError, BufferMut, Queue, Real,
    ops::{Op, op},
};

op! {
    /// `y = x keep scale`.
    ///
    /// The mask depends on the logical index of an element alone, so the same op on the gradient is
    /// the backward pass. With an optimiser record, the mask's step is advanced by the number of
    /// steps the record has begun, so that a recorded op has another mask after each step.
    pub struct Dropout<'a, Q, T: Real> as "dropout" {
        /// Mask and scale.
        params: plain &'a DropoutParams,
        /// One record, if masks follow an optimiser.
        state: read_if StepState,
        /// Any number of elements.
        x: read T,
        /// The results; same length as `x`.
        y: write T,
    }
}

impl<Q: Queue, T: Real> Dropout<'_, Q, T> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`ElementwiseOps`](super::ElementwiseOps).
    pub fn check(&self) -> Result<(), BackendError> {
        self.expect([1, self.y.len(), self.y.len()])
    }
}
