//! Errors of predicted losses, and what follows from them for the states.

use core_types::params::recurrent::{LossError, LossHead, RssmLossParams, Stochastic};

use crate::ops::op;

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
        /// Weights of the head, the same for all members.
        ///
        /// The weights of h come first, then the weights of the second part.
        head: read f32 [hidden.saturating_add(stochastic)],
        /// The states after the steps.
        states: read f32 [members, rows, hidden],
        /// The losses that were seen, for each member or once for all members.
        targets: read f32 [target_members, rows],
        /// The losses that are read from the states.
        predicted: write f32 [members, rows],
        /// The errors.
        errors: write f32 [members, rows],
        /// The slopes.
        slopes: write f32 [members, rows],
        /// The combined states.
        combined: write f32 [members, rows, hidden.saturating_add(stochastic)],
        /// The gradients of the states.
        d_states: write f32 [members, rows, hidden],
    }
    sizes(self) {
        let RssmLossParams { members, rows, hidden, stochastic, part, head, error, own_targets, .. } = *self.params;
        let target_members = if own_targets == 0 { 1 } else { members };
    }
    valid(self) {
        hidden > 0, "`hidden` must be at least 1, got 0";
        part != Stochastic::CopyHidden || stochastic == hidden,
            "`stochastic` must equal `hidden` if the state is copied";
        head != LossHead::Linear || error != LossError::OfLogarithms,
            "an error of logarithms requires the head `ExpClamped`";
    }
}
