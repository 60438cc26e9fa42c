//! A gradient times the loss scale.

use core_types::params::optim::StepState;

use crate::{BufferMut, Real, ops::op};

op! {
    /// `y = scale x` with the loss scale of the record, rounded to `T`.
    ///
    /// It starts a backward pass in 16 bits.
    pub struct ScaleLoss<'a, Q, T: Real> as "scale_loss" {
        /// The record of the step.
        state: read StepState [1],
        /// The gradient of a loss.
        x: read f32 [len],
        /// The results.
        y: write T [len],
    }
    sizes(self) {
        let len = self.y.len();
    }
}
