//! The record of steps, taken to the next one.

use core_types::params::optim::{AdvanceParams, StepState};

use crate::ops::op;

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
        /// The record of steps.
        state: write StepState [1],
    }
}
