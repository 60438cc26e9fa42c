//! Gated recurrent units, forward.

use core_types::params::recurrent::{GRU_SAVED, GruParams, GruVariant};

use super::GruLayer;
use crate::{Real, ops::op};

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
}
