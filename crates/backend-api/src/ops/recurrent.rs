//! Recurrent networks.

use core_types::params::recurrent::{
    Feedback, GRU_SAVED, GruParams, GruVariant, LossError, LossHead, RolloutParams, RssmLossParams, Stochastic,
};

pub use super::sets::RecurrentOps;
use crate::{
    Real,
    ops::{
        op,
        op::flop::{of_gru, of_gru_forward, of_rollout, product},
        views,
    },
};

/// The table of the set, for [`op_sets!`](crate::op_sets!).
#[doc(hidden)]
#[macro_export]
macro_rules! recurrent_ops {
    ($with:ident $($queue:ident)?) => {
        $with! {
            $([$queue])?
            /// Device steps of recurrent networks, in f32.
            ///
            /// The weights of forward passes and of roll-outs may have 16 bits.
            ///
            /// A row's result does not depend on the other rows, down to its bits, nor on how steps
            /// are dealt to calls. Every op returns [`BackendError::Length`] if a view does not
            /// have the length its parameters state, and [`BackendError::Unsupported`] for
            /// parameters that no op has. Nothing is written then. A GPU supports states of up to
            /// 2024 elements, and refuses sizes that its kernels cannot count.
            recurrent::RecurrentOps: Queue {
                gru_backward(GruBackward),
                gru_forward<T>(GruForward),
                rssm_loss(RssmLoss),
                rssm_rollout<T>(RssmRollout),
            }
        }
    };
}

op! {
    /// The backward pass of [`GruForward`], from the values it saved.
    ///
    /// Computes the gradients of the sums of the gates and of the states before the first step. The
    /// other gradients are products. With D the gradients of the sums, `[steps batch, 3 hidden]`
    /// for a member, and h the states before the steps:
    ///
    /// | gradient | value |
    /// | --- | --- |
    /// | W | `x^T D` |
    /// | b | column sums of D |
    /// | U, for z and r | `h^T D` |
    /// | U, for c | `(r h)^T D_c`; with the reset after the product, `h^T (r D_c)` |
    /// | bu (reset after the product) | column sums of `r D_c` |
    ///
    /// Takes the parameters of the forward pass; the form of the inputs has no effect.
    pub struct GruBackward<'a, Q> as "gru_backward" {
        /// Sizes and variant.
        params: plain &'a GruParams,
        /// Weights of the states.
        u: read f32 [members, hidden, 3, hidden],
        /// The values that the forward pass saved.
        saved: read f32 [GRU_SAVED, members, steps, batch, hidden],
        /// Gradients of the states after every step.
        ///
        /// Zeros if absent.
        d_states: read_if f32 [members, steps, batch, hidden],
        /// Further gradients of the state after the last step.
        ///
        /// Zeros if absent.
        d_h_t: read_if f32 [members, batch, hidden],
        /// Gradients of the sums of z, r and c.
        d_gates: write f32 [members, steps, batch, 3, hidden],
        /// Gradients of the states before the first step.
        d_h0: write f32 [members, batch, hidden],
    }
    sizes(self) {
        let GruParams { members, batch, steps, hidden, .. } = *self.params;
    }
    flop(self) {
        of_gru(self.params, 0)
    }
}

op! {
    /// Steps of gated recurrent units.
    ///
    /// With `s(v) = 1 / (1 + exp(-v))` and products element by element, a step takes the state h to
    /// `h + z (c - h)`, where `z = s(x W_z + b_z + h U_z)`, `r = s(x W_r + b_r + h U_r)`, and c is
    /// one of
    ///
    /// - `tanh(x W_c + b_c + (r h) U_c)`, the reset before the product,
    /// - `tanh(x W_c + b_c + r (h U_c + bu))`, the reset after it.
    ///
    /// Sums run over the inputs, then over the state, in their order. With no steps, the last state
    /// is the first.
    pub struct GruForward<'a, Q, T: Real> as "gru_forward" {
        /// Sizes, variant, and the form of the inputs.
        params: plain &'a GruParams,
        /// The weights.
        layer: views GruLayer<'a, Q, T> [params],
        /// The inputs, in the form that the parameters state ([`GruParams::input_shape`]).
        x: read f32 [x_members, x_steps, batch, input],
        /// The state before the first step; zeros without.
        h0: read_if f32 [members, batch, hidden],
        /// The states after every step.
        states: write_if f32 [members, steps, batch, hidden],
        /// The state after the last step.
        h_t: write f32 [members, batch, hidden],
        /// Inputs of the backward pass.
        ///
        /// These are z, r, c, the states before the steps, and `r h`. With the reset after the
        /// product, `h U_c + bu` replaces `r h`.
        saved: write_if f32 [GRU_SAVED, members, steps, batch, hidden],
    }
    sizes(self) {
        let params = self.params;
        let GruParams { members, batch, steps, input, hidden, variant, .. } = *params;
        let [x_members, x_steps, ..] = params.input_shape();
    }
    valid(self) {
        self.layer.bu.is_some() == (variant == GruVariant::ResetAfter),
            "expected `bu` with `ResetAfter` and with no other variant";
    }
    flop(self) {
        of_gru_forward(self.params)
    }
}

op! {
    /// Losses that an ensemble reads from its states, their errors, and gradients.
    ///
    /// Losses are read as in [`RssmRollout`]. The gradients are of `scale / 2` times the sum of the
    /// squares of all errors.
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
    flop(self) {
        let RssmLossParams { members, rows, hidden, stochastic, .. } = *self.params;
        product(&[2, members, rows, hidden.saturating_add(stochastic)])
    }
}

op! {
    /// Runs the steps of an ensemble; each step predicts a loss.
    ///
    /// A step takes the state h to h' as [`GruForward`] does. From the second step on, its features
    /// are either the given ones, with the first replaced by the loss of the step before if losses
    /// are fed back, or, if states are fed back, `v V + c` for the state v that was read at the
    /// step before; all members share V and c.
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
    flop(self) {
        of_rollout(self.params)
    }
}

views! {
    /// The weights of all members.
    ///
    /// Columns are ordered: update gate z, reset gate r, candidate c. 16-bit weights are widened
    /// when used: states, gates and sums are f32.
    pub struct GruLayer<'a, Q, T: Real> {
        /// The weights of the features.
        w: read T [members, input, 3, hidden],
        /// The weights of the state.
        u: read T [members, hidden, 3, hidden],
        /// The biases.
        b: read T [members, 3, hidden],
        /// Added to the candidate's product with U.
        ///
        /// Present if and only if the reset comes after that product.
        bu: read_if T [members, hidden],
    }
    sizes(params: &GruParams) {
        let GruParams { members, input, hidden, .. } = *params;
    }
}
