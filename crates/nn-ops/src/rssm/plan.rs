//! Rollouts of an ensemble.

use backend_api::{BackendError, Queue, Real, ops::recurrent::RssmRollout};
use core_types::params::recurrent::{RolloutParams, StateMask};

use crate::{
    Feedback, GruInputs, LossHead, RecurrentOps, Stochastic,
    elementwise::Dropout,
    error::{NnError, Result},
    gru::{GruPlan, GruWeights},
    tensor::{Layout, Planned, TensorMut, TensorRef},
};

const OP: &str = "rssm_rollout";

/// The specification of a rollout.
///
/// The default takes no row and no step, and otherwise follows RSSM-Lite: a softmax of 32 states,
/// losses that are exponentials, each member's fed back to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RssmSpec {
    /// Rows.
    pub batch: usize,
    /// Steps.
    pub steps: usize,
    /// Elements of the second part of the combined state.
    pub stochastic: usize,
    /// What they are.
    pub part: Stochastic,
    /// How losses are read from the combined state.
    pub head: LossHead,
    /// The source of the next step's features.
    pub feedback: Feedback,
    /// The form of the features; only those that nothing is fed back to form a sequence.
    pub features: GruInputs,
    /// Epsilon of the layer norm of states before they are read, if there is one.
    ///
    /// It is added to the variance.
    pub norm: Option<f32>,
    /// Dropout of states before they are read, if any.
    ///
    /// It serves, for example, to sample the predictions of a trained dropout.
    pub dropout: Option<RssmDropout>,
}

/// Dropout of elements of states before a roll-out reads them.
///
/// The elements are the same as in the dropout of a tensor `[members, steps, batch, hidden]` at
/// this site and step. The next state is not affected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RssmDropout {
    /// Probability and seed.
    pub dropout: Dropout,
    /// Which dropout of the network it is.
    pub site: u32,
    /// Which training step, or which sample.
    pub step: u32,
}

impl Default for RssmSpec {
    fn default() -> Self {
        Self {
            batch: 0,
            steps: 0,
            stochastic: 32,
            part: Stochastic::StridedSoftmax,
            head: LossHead::ExpClamped,
            feedback: Feedback::PerMember,
            features: GruInputs::Constant,
            norm: None,
            dropout: None,
        }
    }
}

/// What reads losses from states.
#[derive(Clone, Copy, Debug)]
pub struct RssmHead<'a, Q: Queue + 'a> {
    /// Weights of the combined state, `[hidden + stochastic]`.
    ///
    /// The weights of the state come first, then the weights of the second part.
    pub weights: TensorRef<'a, Q, f32>,
    /// Factors and addends of normalised states, `[hidden]` each.
    ///
    /// Present if the specification has a norm.
    pub norm: Option<[TensorRef<'a, Q, f32>; 2]>,
    /// Weights `[hidden, features]` and biases `[features]`, if states are fed back.
    ///
    /// They make the features of the next step of a state as it is read. With the head of a trained
    /// ensemble: `RssmHead { back, ..trainer.head()? }`.
    pub back: Option<[TensorRef<'a, Q, f32>; 2]>,
}

impl<'a, Q: Queue> RssmHead<'a, Q> {
    /// A head that reads losses from states as they are.
    #[must_use]
    pub fn new(weights: TensorRef<'a, Q, f32>) -> Self {
        Self { weights, norm: None, back: None }
    }
}

/// Features, states and losses at the start of a rollout.
#[derive(Clone, Copy, Debug)]
pub struct RssmOperands<'a, Q: Queue + 'a> {
    /// The features, with the axes of their form ([`RssmPlan::features`]).
    ///
    /// The features of the first step come from here, whatever the losses are.
    pub features: TensorRef<'a, Q, f32>,
    /// The states before the first step, `[members, batch, hidden]`.
    pub first: TensorRef<'a, Q, f32>,
    /// The losses before the first step, `[members, batch]`.
    pub losses: TensorRef<'a, Q, f32>,
}

/// Destinations of the results of a rollout.
///
/// [`RssmTensors`](crate::RssmTensors) are memory for them.
#[derive(Debug)]
pub struct RssmResults<'a, Q: Queue + 'a> {
    /// The losses before the first step and after each one, `[members, batch, steps + 1]`.
    pub trajectory: TensorMut<'a, Q, f32>,
    /// The states after the last step, `[members, batch, hidden]`.
    pub last: TensorMut<'a, Q, f32>,
    /// The combined states after the last step, `[members, batch, hidden + stochastic]`.
    pub combined: TensorMut<'a, Q, f32>,
    /// The entropies of all steps, added up, `[members, batch]`.
    pub entropy: TensorMut<'a, Q, f32>,
    /// The states after every step as the head reads them, `[members, steps, batch, hidden]`.
    ///
    /// Optional. A [`LinearPlan`](crate::LinearPlan) on them is a head for other predictions.
    pub states: Option<TensorMut<'a, Q, f32>>,
}

/// A checked rollout of an ensemble of gated recurrent units; [`RssmRollout`] defines a step.
///
/// A row's results do not depend on the other rows, down to their bits.
///
/// ```
/// use nn_ops::{
///     GruColumns, GruMember, GruWeights, RssmHead, RssmOperands, RssmPlan, RssmSpec, RssmTensors, Tensor,
/// };
///
/// let q = runtime::cpu()?;
/// // z is 1/2 throughout; c = tanh(f w), where f is the loss of the step before
/// let unit = |w: f32| {
///     GruMember::new(1, 1, GruColumns { w: vec![0.0, 0.0, w], u: vec![0.0; 3], b: vec![0.0; 3], bu: None })
/// };
/// let weights = GruWeights::new(&q, &[unit(1.0)?, unit(0.5)?])?;
/// let plan = RssmPlan::new(&weights, RssmSpec { batch: 1, steps: 2, stochastic: 0, ..RssmSpec::default() })?;
///
/// let (head, features) = (Tensor::from_values(&q, &[1], &[-1.0])?, Tensor::from_values(&q, &[1, 1], &[3.0])?);
/// let first = Tensor::from_values(&q, &[2, 1, 1], &[0.0; 2])?;
/// let losses = Tensor::from_values(&q, &[2, 1], &[3.0; 2])?;
/// let mut results = RssmTensors::new(&q, &plan)?;
/// let operands = RssmOperands { features: features.at(), first: first.at(), losses: losses.at() };
/// plan.run(&q, &weights, RssmHead::new(head.at()), operands, results.at_mut())?;
///
/// let trajectory = results.trajectory.values(&q)?;
/// let loss = (-0.5 * 3.0f32.tanh()).exp();
/// assert!(trajectory[0] == 3.0 && (trajectory[1] - loss).abs() < 1e-6);
/// let summary = &results.summaries(&q)?[0];
/// assert_eq!(summary.mean[0], 3.0);
/// assert!(summary.confidence < 1.0); // the members do not agree
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RssmPlan {
    params: RolloutParams,
    pub(super) gru: GruPlan,
    head: Layout,
    column: Layout,
    back: [Layout; 2],
    pub(super) losses: Layout,
    pub(super) trajectory: Layout,
    pub(super) combined: Layout,
}

impl RssmPlan {
    /// A plan for `weights`, whose inputs are the features.
    ///
    /// # Errors
    /// [`NnError::EmptyReduction`] for weights without features or states;
    /// [`NnError::ShapeMismatch`] for a copy of another length than the state;
    /// [`NnError::Parameter`] for an eps that is not positive and finite; [`NnError::Backend`] for
    /// a sequence of features that something is fed back to; [`NnError::Overflow`] if the elements
    /// of a tensor cannot be counted.
    pub fn new<Q: Queue, T: Real>(weights: &GruWeights<Q, T>, spec: RssmSpec) -> Result<Self> {
        let RssmSpec { batch, steps, stochastic, part, head, feedback, features, norm, dropout } = spec;
        let (members, hidden) = (weights.count(), weights.hidden());
        // Sizes and options that make no rollout are refused.
        if weights.input() == 0 || hidden == 0 {
            return Err(NnError::EmptyReduction { op: OP });
        }
        check_copy(OP, part, hidden, stochastic)?;
        check_norm(OP, norm)?;
        if !features.is_constant() && feedback != Feedback::None {
            let why = "feedback requires constant features, got a sequence";
            return Err(BackendError::Unsupported { op: OP, why }.into());
        }
        // The parameters of the op and the layouts of all tensors.
        let mask = dropout.map_or(StateMask::NONE, |RssmDropout { dropout, site, step }| dropout.mask(site, step));
        let gru = GruPlan::new(weights, batch, steps, features)?;
        let overflow = NnError::Overflow { op: OP };
        let all = hidden.checked_add(stochastic).ok_or(overflow.clone())?;
        let losses = steps.checked_add(1).ok_or(overflow)?;
        let (stochastic, eps) = (stochastic as u64, norm.unwrap_or(0.0));
        let params = RolloutParams { gru: gru.params, stochastic, part, head, feedback, eps, mask };
        Ok(Self {
            params,
            gru,
            head: Layout::contiguous(&[all])?,
            column: Layout::contiguous(&[hidden])?,
            back: [Layout::contiguous(&[hidden, weights.input()])?, Layout::contiguous(&[weights.input()])?],
            losses: Layout::contiguous(&[members, batch])?,
            trajectory: Layout::contiguous(&[members, batch, losses])?,
            combined: Layout::contiguous(&[members, batch, all])?,
        })
    }

    /// The layout of the features.
    #[must_use]
    pub fn features(&self) -> &Layout {
        self.gru.inputs()
    }

    /// Runs all steps.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] or [`NnError::InvalidStride`] for a tensor with another layout
    /// than the plan's, and for weights of another ensemble than it was made for;
    /// [`NnError::Backend`] from the device.
    pub fn run<Q: RecurrentOps, T: Real>(
        &self,
        q: &Q,
        weights: &GruWeights<Q, T>,
        head: RssmHead<'_, Q>,
        operands: RssmOperands<'_, Q>,
        results: RssmResults<'_, Q>,
    ) -> Result<()> {
        self.gru.admit(OP, weights)?;
        let RssmOperands { features, first, losses } = operands;
        let RssmResults { trajectory, last, combined, entropy, states } = results;
        // The norm and all tensors are checked against the plan.
        if head.norm.is_some() != (self.params.eps > 0.0) {
            return Err(NnError::OtherPlan { op: OP, what: "norm" });
        }
        let [back, back_bias] = [0, 1].map(|i| head.back.map(|back| back[i]));
        let back = back.planned(OP, "back", &self.back[0])?;
        let back_bias = back_bias.planned(OP, "biases of back", &self.back[1])?;
        let [gamma, beta] = [0, 1].map(|i| head.norm.map(|norm| norm[i]));
        let (gamma, beta) = (gamma.planned(OP, "gamma", &self.column)?, beta.planned(OP, "beta", &self.column)?);
        let head = head.weights.planned(OP, "head", &self.head)?;
        let x = features.planned(OP, "features", self.gru.inputs())?;
        let h0 = first.planned(OP, "first", &self.gru.state)?;
        let losses = losses.planned(OP, "losses", &self.losses)?;
        let trajectory = trajectory.planned(OP, "trajectory", &self.trajectory)?;
        let h_t = last.planned(OP, "last", &self.gru.state)?;
        let combined = combined.planned(OP, "combined", &self.combined)?;
        let entropy = entropy.planned(OP, "entropy", &self.losses)?;
        let states = states.planned(OP, "states", &self.gru.states)?;
        // One launch runs all steps.
        let (params, layer) = (&self.params, weights.layer()?);
        Ok(q.rssm_rollout(RssmRollout {
            params,
            layer,
            head,
            gamma,
            beta,
            back,
            back_bias,
            x,
            h0,
            losses,
            trajectory,
            h_t,
            combined,
            entropy,
            states,
        })?)
    }
}

/// Refuses a copy of the state of another length.
pub(super) fn check_copy(op: &'static str, part: Stochastic, hidden: usize, stochastic: usize) -> Result<()> {
    if part == Stochastic::CopyHidden && stochastic != hidden {
        return Err(NnError::shape(op, "the copy", [hidden], [stochastic]));
    }
    Ok(())
}

/// Refuses a norm whose epsilon is not positive and finite.
pub(super) fn check_norm(op: &'static str, norm: Option<f32>) -> Result<()> {
    match norm.filter(|eps| !(*eps > 0.0 && eps.is_finite())) {
        Some(eps) => Err(NnError::parameter(op, "eps", "positive and finite", eps)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gru::{GruColumns, GruMember};

    #[test]
    fn rollouts_without_features_or_with_another_copy_are_refused() {
        let q = runtime::cpu().unwrap();
        let planned = |input: usize, part, stochastic| {
            let columns = GruColumns { w: vec![0.0; 6 * input], u: vec![0.0; 12], b: vec![0.0; 6], bu: None };
            let unit = GruMember::new(input, 2, columns)?;
            let spec = RssmSpec { batch: 1, steps: 1, part, stochastic, ..RssmSpec::default() };
            RssmPlan::new(&GruWeights::new(&q, &[unit])?, spec).map(drop)
        };
        assert_eq!(planned(1, Stochastic::CopyHidden, 2), Ok(()));
        assert_eq!(planned(0, Stochastic::CopyHidden, 2), Err(NnError::EmptyReduction { op: "rssm_rollout" }));
        let copy = planned(1, Stochastic::CopyHidden, 3);
        assert!(matches!(copy, Err(NnError::ShapeMismatch { tensor: "the copy", .. })), "{copy:?}");
        assert_eq!(planned(1, Stochastic::Zeros, usize::MAX), Err(NnError::Overflow { op: "rssm_rollout" }));
    }
}
