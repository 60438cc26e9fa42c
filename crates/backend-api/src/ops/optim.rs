//! Steps of optimizers.
//!
//! The tensors of a model lie in one buffer, so that a step is one launch, whatever their number.
//!
//! What changes from step to step is a record on the device ([`StepState`]): [`AdvanceStep`] takes
//! it to the next step and the others read it. A recorded step can be replayed, and nothing waits.

use core_types::params::optim::{AdamParams, AdvanceParams, PART, SgdParams, StepState};

pub use super::sets::OptimOps;
use crate::{
    BufferMut, BufferRef, DType, Real,
    ops::{op, op::flop::each},
};

/// The table of the set, for [`op_sets!`](crate::op_sets!).
#[doc(hidden)]
#[macro_export]
macro_rules! optim_ops {
    ($with:ident $($queue:ident)?) => {
        $with! {
            $([$queue])?
            /// Device steps of optimizers, for all the tensors of a model at once.
            ///
            /// Every op returns [`BackendError::Length`] if a view does not have the length that
            /// the others imply, and [`BackendError::Unsupported`] for views that do not go
            /// together. Nothing is written then. No op waits. Weights and moments have the same
            /// bits on every backend for the same record; sums of squares have an order of their
            /// own on each.
            optim::OptimOps: Queue {
                adam_step<T>(AdamStep),
                advance_step(AdvanceStep),
                scale_loss<T>(ScaleLoss),
                sgd_step<T>(SgdStep),
                square_sums<T>(SquareSums),
            }
        }
    };
}

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
    flop(self) {
        each(12, self.w.len())
    }
}

op! {
    /// Advances the record to the next step ([`AdvanceParams::advance`]).
    ///
    /// This sets the rate and the corrections. The norm of the gradients determines their factor,
    /// whether the step is left out, and the next loss scale.
    pub struct AdvanceStep<'a, Q> as "advance_step" {
        /// Schedule, limits and shares.
        params: plain &'a AdvanceParams,
        /// Sums of squares of the gradients, see [`SquareSums`].
        ///
        /// Absent if the norm is not needed; then no step is left out.
        sums: read_if f64,
        /// The record of steps.
        state: write StepState [1],
    }
}

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
    flop(self) {
        each(1, self.y.len())
    }
}

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
    flop(self) {
        each(4, self.w.len())
    }
}

op! {
    /// Sums of the squares of parts of the gradients, in f64.
    ///
    /// The order of summation depends only on the number of gradients.
    ///
    /// No sum of squares of finite f32 numbers overflows or vanishes in f64, so a sum that is not
    /// finite tells that a gradient is not. Gradients in several buffers have their sums side by
    /// side.
    pub struct SquareSums<'a, Q, T: Real> as "square_sums" {
        /// Gradients.
        g: read T,
        /// One sum per [`PART`] elements; the last part may be shorter.
        sums: write f64 [parts],
    }
    sizes(self) {
        let parts = self.g.len().div_ceil(PART);
    }
    flop(self) {
        each(2, self.g.len())
    }
}
