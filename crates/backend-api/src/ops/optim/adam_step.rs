//! A step of Adam.

use core_types::params::optim::{AdamParams, StepState};

use crate::{BufferMut, DType, Real, ops::op};

op! {
    /// A step of Adam or AdamW ([`AdamParams`]), unless the record leaves it out.
    ///
    /// Each gradient is read once, each moment and weight read and written once.
    pub struct AdamStep<'a, Q, T: Real> as "adam_step" {
        /// Shares and decay.
        params: plain &'a AdamParams,
        /// The record of the step.
        state: read StepState [1],
        /// Gradients, if they are of type `T`.
        g: read_if T [len],
        /// Gradients, if they are f32 and `T` is not.
        wide: read_if f32 [len],
        /// First moments.
        m: write f32 [len],
        /// Second moments.
        v: write f32 [len],
        /// Weights.
        w: write f32 [len],
        /// Optional copy of the updated weights, rounded to `T`, if `T` is a 16-bit type.
        copy: write_if T [len],
    }
    sizes(self) {
        let len = self.w.len();
    }
    valid(self) {
        self.g.is_some() != self.wide.is_some(), "expected exactly one of `g` and `wide`";
        T::DTYPE != DType::F32 || (self.wide.is_none() && self.copy.is_none()),
            "f32 weights have neither wide gradients nor a rounded copy";
    }
}
