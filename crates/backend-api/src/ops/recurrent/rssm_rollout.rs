//! Rollouts of ensembles that predict losses.

use core_types::params::recurrent::{Feedback, GruParams, GruVariant, RolloutParams, Stochastic};

use super::GruLayer;
use crate::{Real, ops::op};

op! {
    /// Runs the steps of an ensemble; each step predicts a loss.
    ///
    /// A step takes the state h to h' as [`GruForward`](super::GruForward) does. From the second
    /// step on, its features are either the given ones, with the first replaced by the loss of the
    /// step before if losses are fed back, or, if states are fed back, `v V + c` for the state v
    /// that was read at the step before; all members share V and c.
    ///
    /// The loss is read from the combined state, h' and then its second part s, by the head; with
    /// `gamma` and `beta`, h' is normalised before it is read
    /// ([`LayerNorm`](crate::ops::linalg::LayerNorm)), and the mask drops elements of it; neither
    /// affects the next step. A softmax s adds its entropy to the row's: the sum of `-s_i ln s_i`
    /// where `s_i > 1e-8`; other parts add nothing. A NaN among the features of a row makes all
    /// losses and states that are predicted for it from that step on NaN, and adds no entropy.
    ///
    /// Sums of the gates run over the features from the second on, then the first, then the state.
    /// A rollout can be split in two: if the second starts with the states of the first, both
    /// predict the same as one rollout of all steps, provided the second also starts with the last
    /// losses as first features if losses are fed back, or with the rest of a sequence. The
    /// features that a last state would be mapped to are not among the results.
    pub struct RssmRollout<'a, Q, T: Real> as "rssm_rollout" {
        /// Sizes and kinds.
        params: plain &'a RolloutParams,
        /// The weights of the ensemble.
        layer: views GruLayer<'a, Q, T> [gru],
        /// Weights of the head, for h and then for s, alike for all members.
        head: read f32 [hidden.saturating_add(stochastic)],
        /// Factors of normalised states; together with `beta` or not at all.
        gamma: read_if f32 [hidden],
        /// Addends of normalised states.
        beta: read_if f32 [hidden],
        /// V, together with `back_bias` if states are fed back, and not otherwise.
        back: read_if f32 [hidden, input],
        /// c.
        back_bias: read_if f32 [input],
        /// The features, in the form that the parameters state ([`GruParams::input_shape`]).
        x: read f32 [x_members, x_steps, batch, input],
        /// The states before the first step.
        h0: read f32 [members, batch, hidden],
        /// The losses before the first step.
        losses: read f32 [members, batch],
        /// The losses before the first step and after each one.
        trajectory: write f32 [members, batch, steps.saturating_add(1)],
        /// The states after the last step.
        h_t: write f32 [members, batch, hidden],
        /// The combined states after the last step.
        combined: write f32 [members, batch, hidden.saturating_add(stochastic)],
        /// The entropies of all steps, added up.
        entropy: write f32 [members, batch],
        /// The states after every step as the head reads them.
        ///
        /// Optional, for other heads for example.
        states: write_if f32 [members, steps, batch, hidden],
    }
    sizes(self) {
        let &RolloutParams { ref gru, stochastic, part, feedback, eps, .. } = self.params;
        let GruParams { members, batch, steps, input, hidden, variant, inputs } = *gru;
        let [x_members, x_steps, ..] = gru.input_shape();
    }
    valid(self) {
        self.layer.bu.is_some() == (variant == GruVariant::ResetAfter),
            "expected `bu` with `ResetAfter` and with no other variant";
        inputs.is_constant() || feedback == Feedback::None,
            "feedback requires constant features, got a sequence";
        input > 0, "`input` must be at least 1, got 0";
        self.back.is_some() == (feedback == Feedback::State),
            "expected `back` with state feedback and with no other feedback";
        self.back.is_some() == self.back_bias.is_some(), "expected both or neither of `back` and `back_bias`";
        part != Stochastic::CopyHidden || stochastic == hidden,
            "`stochastic` must equal `hidden` if the state is copied";
        self.gamma.is_some() == self.beta.is_some(), "expected both or neither of `gamma` and `beta`";
        self.gamma.is_none() || (eps > 0.0 && eps.is_finite()), "expected a positive, finite `eps`";
        hidden > 0, "`hidden` must be at least 1, got 0";
    }
}
