//! Backward passes of gated recurrent units.

use backend_api::{
    Queue,
    ops::recurrent::{GruBackward, RecurrentOps},
};

use super::{GruPlan, GruWeights};
use crate::{NnError, TensorMut, TensorRef};

const OP: &str = "gru_backward";

/// The gradients of the results of a forward pass; zeros where there are none.
#[derive(Clone, Copy, Debug)]
pub struct GruUpstream<'a, Q: Queue + 'a> {
    /// Those of the states after every step, `[members, steps, batch, hidden]`.
    pub states: Option<TensorRef<'a, Q, f32>>,
    /// Those of the states after the last step, beside that: `[members, batch, hidden]`.
    pub last: Option<TensorRef<'a, Q, f32>>,
}

/// Where the gradients of a backward pass go.
#[derive(Debug)]
pub struct GruGradients<'a, Q: Queue + 'a> {
    /// Those of the sums of z, r and c, `[members, steps, batch, 3 hidden]`.
    pub gates: TensorMut<'a, Q, f32>,
    /// Those of the states before the first step, `[members, batch, hidden]`.
    pub first: TensorMut<'a, Q, f32>,
}

impl GruPlan {
    /// The gradients of the gates' sums and of the first states, from what [`forward`](Self::forward) saved. Those of weights, biases
    /// and inputs are products and sums of these over steps and batch: see [`GruBackward`].
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn backward<Q: RecurrentOps>(
        &self,
        q: &Q,
        weights: &GruWeights<Q>,
        saved: TensorRef<'_, Q, f32>,
        upstream: GruUpstream<'_, Q>,
        gradients: GruGradients<'_, Q>,
    ) -> Result<(), NnError> {
        self.admit(OP, weights)?;
        let saved = saved.planned(OP, "saved", self.saved())?;
        let d_states = upstream.states.map(|states| states.planned(OP, "states", self.states())).transpose()?;
        let d_h_t = upstream.last.map(|last| last.planned(OP, "last", self.state())).transpose()?;
        let d_gates = gradients.gates.planned(OP, "gates", self.gates())?;
        let d_h0 = gradients.first.planned(OP, "first", self.state())?;
        let (params, u) = (&self.params(), q.shorten(weights.layer().u));
        Ok(q.gru_backward(GruBackward { params, u, saved, d_states, d_h_t, d_gates, d_h0 })?)
    }
}
