//! Gated recurrent units, forward.

use core_types::params::recurrent::{GRU_SAVED, GruParams};

use super::GruLayer;

use crate::{
    BackendError, Queue, Real,
    ops::{Op, linalg::shape::elements, op},
};

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
        layer: views GruLayer<'a, Q, T>,
        /// The inputs, in the form that the parameters state.
        x: read f32,
        /// The state before the first step, `[members, batch, hidden]`; zeros without.
        h0: read_if f32,
        /// The states after every step, `[members, steps, batch, hidden]`.
        states: write_if f32,
        /// The state after the last step, `[members, batch, hidden]`.
        h_t: write f32,
        /// Inputs of the backward pass, `[5, members, steps, batch, hidden]`.
        ///
        /// These are z, r, c, the states before the steps, and `r h`. With the reset after the
        /// product, `h U_c + bu` replaces `r h`.
        saved: write_if f32,
    }
}

impl<Q: Queue, T: Real> GruForward<'_, Q, T> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`RecurrentOps`](super::RecurrentOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let p = self.params;
        let [w, u, b, bu] = GruLayer::<Q, T>::lengths(p);
        let GruParams { members, batch, steps, hidden, .. } = *p;
        let of = |planes, steps| elements(&[planes, members, steps, batch, hidden]);
        self.expect([w, u, b, bu, elements(&p.input_shape()), of(1, 1), of(1, steps), of(1, 1), of(GRU_SAVED, steps)])?;
        self.layer.check_variant(Self::NAME, p)
    }
}
