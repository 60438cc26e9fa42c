//! Rollouts of ensembles that predict losses.

use core_types::params::recurrent::{Feedback, GruParams, RolloutParams, Stochastic};

use super::GruLayer;

use crate::{
    BackendError, Queue, Real,
    ops::{Op, linalg::shape::elements, op},
};

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
        layer: views GruLayer<'a, Q, T>,
        /// Weights of the head, for h and then for s: `[hidden + stochastic]`, alike for all
        /// members.
        head: read f32,
        /// Factors of normalised states, `[hidden]`; together with `beta` or not at all.
        gamma: read_if f32,
        /// Addends of normalised states, `[hidden]`.
        beta: read_if f32,
        /// V, `[hidden, input]`, together with `back_bias` if states are fed back, and not
        /// otherwise.
        back: read_if f32,
        /// c, `[input]`.
        back_bias: read_if f32,
        /// The features, in the form that the parameters state.
        x: read f32,
        /// The states before the first step, `[members, batch, hidden]`.
        h0: read f32,
        /// The losses before the first step, `[members, batch]`.
        losses: read f32,
        /// The losses before the first step and after each one, `[members, batch, steps + 1]`.
        trajectory: write f32,
        /// The states after the last step, `[members, batch, hidden]`.
        h_t: write f32,
        /// The combined states after the last step, `[members, batch, hidden + stochastic]`.
        combined: write f32,
        /// The entropies of all steps, added up: `[members, batch]`.
        entropy: write f32,
        /// The states after every step as the head reads them, `[members, steps, batch, hidden]`.
        ///
        /// Optional, for other heads for example.
        states: write_if f32,
    }
}

impl<Q: Queue, T: Real> RssmRollout<'_, Q, T> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`RecurrentOps`](super::RecurrentOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let &RolloutParams { gru: ref p, stochastic, part, feedback, .. } = self.params;
        let [w, u, b, bu] = GruLayer::<Q, T>::lengths(p);
        let GruParams { members, batch, steps, hidden, .. } = *p;
        let of = |len| elements(&[members, batch, len]);
        let both = hidden.saturating_add(stochastic);
        let (x, trajectory) = (elements(&p.input_shape()), of(steps.saturating_add(1)));
        let (head, column) = (elements(&[both]), elements(&[hidden]));
        let (back, back_bias) = (elements(&[hidden, p.input]), elements(&[p.input]));
        let states = elements(&[members, steps, batch, hidden]);
        let read = [w, u, b, bu, head, column, column, back, back_bias, x, of(hidden), of(1)];
        let written = [trajectory, of(hidden), of(both), of(1), states];
        let mut all = [0; 17];
        all.iter_mut().zip(read.into_iter().chain(written)).for_each(|(slot, len)| *slot = len);
        self.expect(all)?;
        self.layer.check_variant(Self::NAME, p)?;
        let why = if !p.inputs.is_constant() && feedback != Feedback::None {
            "feedback requires constant features, got a sequence"
        } else if p.input == 0 {
            "`input` must be at least 1, got 0"
        } else if self.back.is_some() != (feedback == Feedback::State) {
            "expected `back` with state feedback and with no other feedback"
        } else if self.back.is_some() != self.back_bias.is_some() {
            "expected both or neither of `back` and `back_bias`"
        } else if part == Stochastic::CopyHidden && stochastic != hidden {
            "`stochastic` must equal `hidden` if the state is copied"
        } else if self.gamma.is_some() != self.beta.is_some() {
            "expected both or neither of `gamma` and `beta`"
        } else if self.gamma.is_some() && !(self.params.eps > 0.0 && self.params.eps.is_finite()) {
            "expected a positive, finite `eps`"
        } else if hidden == 0 {
            "`hidden` must be at least 1, got 0"
        } else {
            return Ok(());
        };
        Err(BackendError::Unsupported { op: Self::NAME, why })
    }
}
