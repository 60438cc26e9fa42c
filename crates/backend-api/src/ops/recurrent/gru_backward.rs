//! Gated recurrent units, backward through time.

use core_types::params::recurrent::{GRU_SAVED, GruParams};

use crate::ops::op;

op! {
    /// The backward pass of [`GruForward`](super::GruForward), from the values it saved.
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
}
