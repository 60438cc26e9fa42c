//! Dropout by a mask that is computed from a seed.

use core_types::params::{elementwise::DropoutParams, optim::StepState};

use crate::{BufferMut, Real, ops::op};

op! {
    /// `y = x keep scale`.
    ///
    /// The mask depends on the logical index of an element alone, so the same op on the gradient is
    /// the backward pass. With an optimiser record, the mask's step is advanced by the number of
    /// steps the record has begun, so that a recorded op has another mask after each step.
    pub struct Dropout<'a, Q, T: Real> as "dropout" {
        /// Mask and scale.
        params: plain &'a DropoutParams,
        /// The record of an optimiser, if masks follow one.
        state: read_if StepState [1],
        /// The elements.
        x: read T [len],
        /// The results.
        y: write T [len],
    }
    sizes(self) {
        let len = self.y.len();
    }
}
