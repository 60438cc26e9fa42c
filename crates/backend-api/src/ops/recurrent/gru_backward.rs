//! Gated recurrent units, backward through time.

use core_types::params::recurrent::{GRU_SAVED, GruParams};

use crate::{
    BackendError, Queue,
    ops::{Op, linalg::shape::elements, op},
};

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
        /// Weights of the states, `[members, hidden, 3 hidden]`.
        u: read f32,
        /// The values that the forward pass saved, `[5, members, steps, batch, hidden]`.
        saved: read f32,
        /// Gradients of the states after every step, `[members, steps, batch, hidden]`.
        ///
        /// Zeros if absent.
        d_states: read_if f32,
        /// Further gradients of the state after the last step, `[members, batch, hidden]`.
        ///
        /// Zeros if absent.
        d_h_t: read_if f32,
        /// Gradients of the sums of z, r and c, `[members, steps, batch, 3 hidden]`.
        d_gates: write f32,
        /// Gradients of the states before the first step, `[members, batch, hidden]`.
        d_h0: write f32,
    }
}

impl<Q: Queue> GruBackward<'_, Q> {
    /// Refuses views that do not make a valid op.
    ///
    /// # Errors
    /// See [`RecurrentOps`](super::RecurrentOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let GruParams { members, batch, steps, hidden, .. } = *self.params;
        let of = |planes, steps| elements(&[planes, members, steps, batch, hidden]);
        let u = elements(&[members, hidden, 3, hidden]);
        self.expect([u, of(GRU_SAVED, steps), of(1, steps), of(1, 1), of(3, steps), of(1, 1)])
    }
}
