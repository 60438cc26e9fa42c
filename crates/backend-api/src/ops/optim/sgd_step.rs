//! A step of stochastic gradient descent.

use core_types::params::optim::{SgdParams, StepState};

use crate::{BufferMut, DType, Real, ops::op};

op! {
    /// A step of stochastic gradient descent ([`SgdParams`]), unless the record leaves it out.
    ///
    /// Each gradient is read once, each running sum and weight read and written once.
    pub struct SgdStep<'a, Q, T: Real> as "sgd_step" {
        /// Momentum and decay.
        params: plain &'a SgdParams,
        /// The record of the step.
        state: read StepState [1],
        /// Gradients, if they are of type `T`.
        g: read_if T [len],
        /// Gradients, if they are f32 and `T` is not.
        wide: read_if f32 [len],
        /// Running sums; none without momentum.
        v: write_if f32 [len],
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
        self.v.is_some() || self.params.momentum == 0.0, "momentum needs running sums";
    }
}
