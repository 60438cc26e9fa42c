//! Memory for the results of a rollout.

use backend_api::Queue;

use super::{
    plan::{RssmPlan, RssmResults},
    summary::RssmSummary,
};
use crate::{
    error::Result,
    tensor::{Layout, Tensor},
};

/// Tensors for the results of a rollout, overwritten by each run.
///
/// [`RssmResults`] describes them.
#[derive(Debug)]
pub struct RssmTensors<Q: Queue> {
    /// `[members, batch, steps + 1]`.
    pub trajectory: Tensor<Q, f32>,
    /// `[members, batch, hidden]`.
    pub last: Tensor<Q, f32>,
    /// `[members, batch, hidden + stochastic]`.
    pub combined: Tensor<Q, f32>,
    /// `[members, batch]`.
    pub entropy: Tensor<Q, f32>,
    /// `[members, steps, batch, hidden]`, if they are wanted.
    pub states: Option<Tensor<Q, f32>>,
}

impl<Q: Queue> RssmTensors<Q> {
    /// Tensors for `plan`, without the states after every step.
    ///
    /// # Errors
    /// [`NnError::Backend`](crate::NnError::Backend) if memory is short.
    pub fn new(q: &Q, plan: &RssmPlan) -> Result<Self> {
        let of = |layout: &Layout| Tensor::alloc(q, layout.shape());
        Ok(Self {
            trajectory: of(&plan.trajectory)?,
            last: of(&plan.gru.state)?,
            combined: of(&plan.combined)?,
            entropy: of(&plan.losses)?,
            states: None,
        })
    }

    /// Tensors for `plan`, with the states after every step.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_states(q: &Q, plan: &RssmPlan) -> Result<Self> {
        let states = Some(Tensor::alloc(q, plan.gru.states.shape())?);
        Ok(Self { states, ..Self::new(q, plan)? })
    }

    /// The tensors as results.
    #[must_use]
    pub fn at_mut(&mut self) -> RssmResults<'_, Q> {
        RssmResults {
            trajectory: self.trajectory.at_mut(),
            last: self.last.at_mut(),
            combined: self.combined.at_mut(),
            entropy: self.entropy.at_mut(),
            states: self.states.as_mut().map(Tensor::at_mut),
        }
    }

    /// Waits for the results and summarises the members' predictions for each row.
    ///
    /// # Errors
    /// [`NnError::Backend`](crate::NnError::Backend) from the device,
    /// [`NnError::Parameter`](crate::NnError::Parameter) without members, and
    /// [`NnError::Length`](crate::NnError::Length) for tensors that were put in the places of
    /// others and do not fit.
    pub fn summaries(&self, q: &Q) -> Result<Vec<RssmSummary>> {
        let shape = self.trajectory.layout().shape();
        let len = |axis: Option<&usize>| axis.copied().unwrap_or(0);
        let (members, steps) = (len(shape.first()), len(shape.last()).saturating_sub(1));
        RssmSummary::of_rows(members, steps, &self.trajectory.values(q)?, &self.entropy.values(q)?)
    }
}
