//! Errors of predicted losses, and what follows from them for the states.

use core_types::params::recurrent::{LossError, LossHead, RssmLossParams, Stochastic};

use crate::{
    BackendError, Queue,
    ops::{Op, linalg::shape::elements, op},
};

op! {
    /// Losses that an ensemble reads from its states, their errors, and gradients.
    ///
    /// Losses are read as in [`RssmRollout`](super::RssmRollout). The gradients are of `scale / 2`
    /// times the sum of the squares of all errors.
    ///
    /// With d the product of the head's weights with the combined state, the slope of a row is the
    /// derivative with respect to d: `scale error loss` for errors of losses that are exponentials
    /// (0 where d is clamped), `scale error` otherwise. The gradient of the states goes through
    /// both parts of the combined state. The gradient of the head's weights is the product of the
    /// slopes with the combined states.
    pub struct RssmLoss<'a, Q> as "rssm_loss" {
        /// Sizes and kinds.
        params: plain &'a RssmLossParams,
        /// Weights of the head, `[hidden + stochastic]`, the same for all members.
        ///
        /// The weights of h come first, then the weights of the second part.
        head: read f32,
        /// The states after the steps, `[members, rows, hidden]`.
        states: read f32,
        /// The losses that were seen, `[members, rows]` or, for all members, `[rows]`.
        targets: read f32,
        /// The losses that are read from the states, `[members, rows]`.
        predicted: write f32,
        /// The errors, `[members, rows]`.
        errors: write f32,
        /// The slopes, `[members, rows]`.
        slopes: write f32,
        /// The combined states, `[members, rows, hidden + stochastic]`.
        combined: write f32,
        /// The gradients of the states, `[members, rows, hidden]`.
        d_states: write f32,
    }
}

impl<Q: Queue> RssmLoss<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`RecurrentOps`](super::RecurrentOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let &RssmLossParams { members, rows, hidden, stochastic, part, head, error, own_targets, .. } = self.params;
        let both = hidden.saturating_add(stochastic);
        let of = |len| elements(&[members, rows, len]);
        let targets = elements(&[if own_targets == 0 { 1 } else { members }, rows]);
        self.expect([elements(&[both]), of(hidden), targets, of(1), of(1), of(1), of(both), of(hidden)])?;
        let why = if hidden == 0 {
            "`hidden` must be at least 1, got 0"
        } else if part == Stochastic::CopyHidden && stochastic != hidden {
            "`stochastic` must equal `hidden` if the state is copied"
        } else if head == LossHead::Linear && error == LossError::OfLogarithms {
            "an error of logarithms requires the head `ExpClamped`"
        } else {
            return Ok(());
        };
        Err(BackendError::Unsupported { op: Self::NAME, why })
    }
}
