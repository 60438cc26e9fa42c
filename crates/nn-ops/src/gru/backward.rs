//! Backward passes of gated recurrent units.

use backend_api::{Queue, ops::recurrent::GruBackward};

use super::{
    plan::GruPlan,
    weights::{GruIds, GruWeights},
};
use crate::{
    RecurrentOps,
    error::Result,
    optim::ParameterArena,
    tensor::{Planned, TensorMut, TensorRef},
};

const OP: &str = "gru_backward";

/// The gradients of the results of a forward pass; zeros where there are none.
#[derive(Clone, Copy, Debug)]
pub struct GruUpstream<'a, Q: Queue + 'a> {
    /// Gradients of the states after every step, `[members, steps, batch, hidden]`.
    pub states: Option<TensorRef<'a, Q, f32>>,
    /// Further gradients of the states after the last step, `[members, batch, hidden]`.
    pub last: Option<TensorRef<'a, Q, f32>>,
}

/// Where the gradients of a backward pass go.
#[derive(Debug)]
pub struct GruGradients<'a, Q: Queue + 'a> {
    /// Gradients of the sums of z, r and c, `[members, steps, batch, 3 hidden]`.
    pub gates: TensorMut<'a, Q, f32>,
    /// Gradients of the states before the first step, `[members, batch, hidden]`.
    pub first: TensorMut<'a, Q, f32>,
}

impl GruPlan {
    /// Computes the gradients of the gates' sums and of the first states.
    ///
    /// `saved` comes from [`forward`](Self::forward). The gradients of weights, biases and inputs
    /// are products and sums of these over steps and batch: see [`GruBackward`].
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
    ) -> Result<()> {
        self.admit(OP, weights)?;
        self.run_backward(q, weights.ids(), weights.arena(), saved, upstream, gradients)
    }

    /// [`backward`](Self::backward) with weights among the tensors of an arena.
    pub(crate) fn run_backward<Q: RecurrentOps>(
        &self,
        q: &Q,
        ids: GruIds,
        arena: &ParameterArena<Q, f32>,
        saved: TensorRef<'_, Q, f32>,
        upstream: GruUpstream<'_, Q>,
        gradients: GruGradients<'_, Q>,
    ) -> Result<()> {
        let saved = saved.planned(OP, "saved", &self.saved)?;
        let d_states = upstream.states.planned(OP, "states", &self.states)?;
        let d_h_t = upstream.last.planned(OP, "last", &self.state)?;
        let d_gates = gradients.gates.planned(OP, "gates", &self.gates)?;
        let d_h0 = gradients.first.planned(OP, "first", &self.state)?;
        let (params, u) = (&self.params, ids.layer(arena)?.u);
        Ok(q.gru_backward(GruBackward { params, u, saved, d_states, d_h_t, d_gates, d_h0 })?)
    }
}

#[cfg(test)]
mod tests {
    use core_types::params::recurrent::GruInputs;

    use super::*;
    use crate::{
        gru::{
            member::{GruColumns, GruMember},
            plan::GruResults,
        },
        tensor::Tensor,
    };

    /// Gates of 1/2 and a candidate of 0: a step halves the state.
    #[test]
    fn a_step_that_halves_the_state_halves_its_gradient() {
        let q = runtime::cpu().unwrap();
        let columns = GruColumns { w: vec![0.0; 3], u: vec![0.0; 3], b: vec![0.0; 3], bu: None };
        let unit = GruMember::new(1, 1, columns).unwrap();
        let weights = GruWeights::new(&q, &[unit]).unwrap();
        let plan = GruPlan::new(&weights, 1, 2, GruInputs::Sequence).unwrap();
        let (state, states, gates, all) = ([1, 1, 1], [1, 2, 1, 1], [1, 2, 1, 3], [5, 1, 2, 1, 1]);
        let tensor = |shape: &[usize], values: &[f32]| Tensor::from_values(&q, shape, values).unwrap();
        let (x, first) = (tensor(plan.inputs().shape(), &[0.0; 2]), tensor(&state, &[0.8]));
        let (mut last, mut saved) = (tensor(&state, &[0.0]), tensor(&all, &[0.0; 10]));
        let results = GruResults { states: None, last: last.at_mut(), saved: Some(saved.at_mut()) };
        plan.forward(&q, &weights, x.at(), Some(first.at()), results).unwrap();
        assert_eq!(last.values(&q).unwrap(), [0.2]);

        let (of_states, of_last) = (tensor(&states, &[1.0, 0.0]), tensor(&state, &[4.0]));
        let (mut of_gates, mut of_first) = (tensor(&gates, &[0.0; 6]), tensor(&state, &[0.0]));
        let upstream = GruUpstream { states: Some(of_states.at()), last: Some(of_last.at()) };
        let gradients = GruGradients { gates: of_gates.at_mut(), first: of_first.at_mut() };
        plan.backward(&q, &weights, saved.at(), upstream, gradients).unwrap();
        // 4 at the end, 4 / 2 + 1 between the steps
        assert_eq!(of_first.values(&q).unwrap(), [1.5]);
        let expected = [3.0 * -0.8 / 4.0, 0.0, 3.0 / 2.0, 4.0 * -0.4 / 4.0, 0.0, 4.0 / 2.0];
        for (got, expected) in of_gates.values(&q).unwrap().into_iter().zip(expected) {
            assert!((got - expected).abs() < 1e-6f32, "{got} instead of {expected}");
        }
    }
}
