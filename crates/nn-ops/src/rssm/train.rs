//! Training of an ensemble that predicts losses.
//!
//! A step minimises `sum over members of (sum over rows of error^2) / (2 rows)`, where rows are all
//! steps of the batch.

use backend_api::{Buffer as _, Queue, ops::recurrent::RssmLoss};
use core_types::params::recurrent::RssmLossParams;

use super::plan::{RssmHead, check_copy, check_norm};
use crate::{
    Activation, GruInputs, LinalgOps, LossError, LossHead, OptimOps, RecurrentOps, Stochastic, TensorOps,
    elementwise::{Dropout, ElementwisePlan},
    error::{NnError, Result},
    gru::{
        GruGradientPlan, GruGradientWorkspace, GruGradients, GruMember, GruPassValues, GruPlan, GruResults,
        GruUpstream, GruWeights,
    },
    optim::{Optimizer, OptimizerConfig, ParameterId, ParameterSpec},
    products::GemmPlan,
    rows::{NormAffine, NormGradients, NormPlan, NormResults, NormSaved},
    tensor::{Layout, Planned, Tensor, TensorRef},
};

const OP: &str = "rssm_train";
const HEAD: &str = "head";
const GAMMA: &str = "gamma";
const BETA: &str = "beta";
/// Of the dropout, for masks that roll-outs are to share.
const SITE: u32 = 0;

/// The training data and the error of an ensemble.
///
/// The default has no row and no step, and otherwise follows RSSM-Lite with whole gradients: a
/// softmax of 32 states, losses that are exponentials, errors of losses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RssmTraining {
    /// Rows.
    pub batch: usize,
    /// Steps of a window: how far gradients go back.
    pub steps: usize,
    /// Elements of the second part of the combined state.
    pub stochastic: usize,
    /// What they are.
    pub part: Stochastic,
    /// How losses are read from the combined state.
    pub head: LossHead,
    /// What an error is.
    pub error: LossError,
    /// Decay of a step in the gradients of the units' weights.
    ///
    /// A step counts `decay^age` times, with age the number of later steps in the window: 1 for
    /// whole gradients, 0.7 in RSSM-Lite. The head's gradient is whole.
    pub decay: f32,
    /// Whether a window begins with the last states of the window before it.
    ///
    /// Otherwise, it always begins with the states that were set. States that a window makes NaN
    /// are carried too, until others are set.
    pub carried: bool,
    /// Whether each member has separate features and losses.
    pub own_data: bool,
    /// Epsilon of the layer norm of states before they are read, if there is one.
    ///
    /// It is added to the variance. The norm is trained with the rest.
    pub norm: Option<f32>,
    /// Dropout of states before they are read, if any.
    ///
    /// Each step has a separate mask, by its number, in replays as well.
    pub dropout: Option<Dropout>,
}

impl Default for RssmTraining {
    fn default() -> Self {
        Self {
            batch: 0,
            steps: 0,
            stochastic: 32,
            part: Stochastic::StridedSoftmax,
            head: LossHead::ExpClamped,
            error: LossError::OfLosses,
            decay: 1.0,
            carried: false,
            own_data: false,
            norm: None,
            dropout: None,
        }
    }
}

/// A training of an ensemble of gated recurrent units with a head for losses, and its memory.
///
/// All members are trained at once.
///
/// A step runs the units over a window of features that were seen, reads a loss from each state
/// ([`RssmLoss`]), and minimises half the mean of the squared errors over steps and rows, summed
/// over the members: backward through the window, one norm of all gradients to hold to a limit, and
/// a step of the optimizer. The head is trained with the units and shared by them. Weights and the
/// head decay, if the optimizer makes weights decay, and biases do not.
///
/// All memory but what single ops need is made at the start, nothing waits, and a step can be
/// recorded ([`Record`](backend_api::Record)) and replayed, as the optimizer's schedule and the
/// carried states are on the device.
///
/// ```
/// use nn_ops::{GruColumns, GruMember, OptimizerConfig, RssmTrainer, RssmTraining, Stochastic, Tensor};
///
/// let q = runtime::cpu()?;
/// // two members that begin with different weights
/// let weights = |seed: u32, len: u32| (0..len).map(|i| ((seed + i * 37) % 19) as f32 / 19.0 - 0.5).collect::<Vec<_>>();
/// let unit = |seed| {
///     let (w, u) = (weights(seed, 24), weights(seed + 1, 192));
///     GruMember::new(1, 8, GruColumns { w, u, b: vec![0.0; 24], bu: None })
/// };
/// let training = RssmTraining { batch: 2, steps: 4, stochastic: 0, part: Stochastic::Zeros, ..RssmTraining::default() };
/// let optimizer = OptimizerConfig { clip: Some(5.0), ..OptimizerConfig::adam(0.02) };
/// let mut trainer = RssmTrainer::new(&q, &[unit(1)?, unit(9)?], &[0.1; 8], training, optimizer)?;
///
/// // losses that halve at every step, seen from 2 and from 1 on
/// let seen = [2.0f32, 1.0, 1.0, 0.5, 0.5, 0.25, 0.25, 0.125, 0.125, 0.0625];
/// let x = Tensor::from_values(&q, &[4, 2, 1], &seen[..8])?;
/// let targets = Tensor::from_values(&q, &[4, 2], &seen[2..])?;
/// trainer.step(&q, x.at(), targets.at())?;
/// let before = trainer.errors(&q)?;
/// for _ in 0..300 {
///     trainer.step(&q, x.at(), targets.at())?;
/// }
/// for (after, before) in trainer.errors(&q)?.into_iter().zip(before) {
///     assert!(after < 0.05 * before); // mean squared errors of each member
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RssmTrainer<Q: Queue> {
    training: RssmTraining,
    plans: RssmPlans,
    /// The units, and the head behind them.
    weights: GruWeights<Q>,
    gradients: GruWeights<Q>,
    head: HeadIds,
    optimizer: Optimizer<Q>,
    workspace: Workspace<Q>,
}

/// The parameters trained in addition to the units.
#[derive(Clone, Copy)]
struct HeadIds {
    weights: ParameterId,
    /// Factors and addends of normalised states.
    norm: Option<[ParameterId; 2]>,
}

/// The plans of a step.
struct RssmPlans {
    gru: GruPlan,
    gradients: GruGradientPlan,
    loss: RssmLossParams,
    targets: Layout,
    /// The gradient of the head: all slopes as a row, times all combined states.
    head: GemmPlan,
    norm: Option<NormPlan>,
    dropout: ElementwisePlan,
}

/// The working memory of a step.
struct Workspace<Q: Queue> {
    gradients: GruGradientWorkspace<Q>,
    first: Tensor<Q, f32>,
    last: Tensor<Q, f32>,
    states: Tensor<Q, f32>,
    saved: Tensor<Q, f32>,
    predicted: Tensor<Q, f32>,
    errors: Tensor<Q, f32>,
    slopes: Tensor<Q, f32>,
    combined: Tensor<Q, f32>,
    /// The states normalised, and their means and deviations.
    normalised: Option<[Tensor<Q, f32>; 2]>,
    /// The states with elements dropped.
    dropped: Option<Tensor<Q, f32>>,
    d_read: Tensor<Q, f32>,
    d_normalised: Option<Tensor<Q, f32>>,
    d_states: Option<Tensor<Q, f32>>,
    d_gates: Tensor<Q, f32>,
    d_first: Tensor<Q, f32>,
}

impl<Q: OptimOps> RssmTrainer<Q> {
    /// A training of `members`, each with its own initial weights, and of a head.
    ///
    /// The head has `[hidden + stochastic]` weights.
    ///
    /// # Errors
    /// [`NnError::Parameter`] without members, for a decay outside `0..=1` and for numbers that
    /// make no step; [`NnError::ShapeMismatch`] for members of different sizes or variants and for
    /// a copy of another length than the state; [`NnError::Length`] for a head of another length;
    /// [`NnError::EmptyReduction`] without rows, steps or states; [`NnError::Overflow`] if the
    /// elements of a tensor cannot be counted; [`NnError::Backend`] if memory is short.
    pub fn new(
        q: &Q,
        members: &[GruMember],
        head: &[f32],
        training: RssmTraining,
        optimizer: OptimizerConfig,
    ) -> Result<Self> {
        // The head has a weight for each element of the combined state.
        let both = members.first().map_or(0, GruMember::hidden).saturating_add(training.stochastic);
        if !members.is_empty() && head.len() != both {
            return Err(NnError::Length { op: OP, tensor: "the head", expected: both, got: head.len() });
        }
        let hidden = both - training.stochastic.min(both);
        // The head and the norm share the arena of the units.
        let column = |name| ParameterSpec::new(name, &[hidden]).without_decay();
        let mut others = vec![ParameterSpec::new(HEAD, &[both])];
        if training.norm.is_some() {
            others.extend([column(GAMMA), column(BETA)]);
        }
        let mut weights = GruWeights::beside(q, members, &others)?;
        let table = weights.arena().table().clone();
        let ids = HeadIds {
            weights: table.id(HEAD)?,
            norm: training.norm.map(|_| Ok::<_, NnError>([table.id(GAMMA)?, table.id(BETA)?])).transpose()?,
        };
        // The head starts as given, the factors of the norm as ones.
        weights.arena_mut().write(q, ids.weights, head)?;
        if let Some([gamma, _]) = ids.norm {
            weights.arena_mut().write(q, gamma, &vec![1.0; hidden])?;
        }
        let plans = RssmPlans::new(&weights, training)?;
        Ok(Self {
            optimizer: Optimizer::new(q, optimizer, &table)?,
            gradients: weights.like(q)?,
            workspace: Workspace::new(q, &plans, training)?,
            head: ids,
            weights,
            plans,
            training,
        })
    }

    /// The units, for roll-outs.
    #[must_use]
    pub fn weights(&self) -> &GruWeights<Q> {
        &self.weights
    }

    /// The head, for roll-outs.
    ///
    /// # Errors
    /// None that [`new`](Self::new) would not have reported.
    pub fn head(&self) -> Result<RssmHead<'_, Q>> {
        self.head.of(&self.weights)
    }

    /// The gradients of the last step, before clipping.
    ///
    /// They have the form of the units and of the head.
    ///
    /// # Errors
    /// As [`head`](Self::head).
    pub fn gradients(&self) -> Result<(&GruWeights<Q>, RssmHead<'_, Q>)> {
        Ok((&self.gradients, self.head.of(&self.gradients)?))
    }

    /// The optimizer, which holds the number of steps and the last norm and rate.
    #[must_use]
    pub fn optimizer(&self) -> &Optimizer<Q> {
        &self.optimizer
    }

    /// The losses that the last step predicted, `[members, steps, batch]`.
    ///
    /// Zeros before the first step.
    #[must_use]
    pub fn predicted(&self) -> TensorRef<'_, Q, f32> {
        self.workspace.predicted.at()
    }

    /// Waits and returns the mean of the squared errors of each member in the last step.
    ///
    /// The errors are from before the weights changed; zeros before the first step. A replay of a
    /// recorded step counts as a step.
    ///
    /// # Errors
    /// [`NnError::Backend`] from the device.
    pub fn errors(&self, q: &Q) -> Result<Vec<f64>> {
        let errors = q.download(self.workspace.errors.buffer())?;
        let of_member = errors.len() / self.weights.count();
        let mean = |errors: &[f32]| {
            errors.iter().map(|&error| f64::from(error) * f64::from(error)).sum::<f64>() / of_member as f64
        };
        Ok(errors.chunks(of_member).map(mean).collect())
    }
}

impl<Q: RecurrentOps + LinalgOps + OptimOps + TensorOps> RssmTrainer<Q> {
    /// Sets the initial states of the next window, `[members, batch, hidden]`.
    ///
    /// They are zero in a new trainer.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] or [`NnError::InvalidStride`] for a tensor of another layout,
    /// [`NnError::Backend`] from the device.
    pub fn begin(&mut self, q: &Q, first: TensorRef<'_, Q, f32>) -> Result<()> {
        let from = first.planned(OP, "first", &self.plans.gru.state)?;
        Ok(q.copy(from, self.workspace.first.buffer_mut().view_mut())?)
    }

    /// Takes a step on a window.
    ///
    /// Features are `[steps, batch, features]`, and the losses that followed are `[steps, batch]`.
    /// If members have separate data, both are `[members, ..]`.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] or [`NnError::InvalidStride`] for a tensor of another layout,
    /// [`NnError::Backend`] from the device.
    pub fn step(&mut self, q: &Q, features: TensorRef<'_, Q, f32>, targets: TensorRef<'_, Q, f32>) -> Result<()> {
        self.differentiate(q, features, targets)?;
        let weights = self.weights.arena_mut().view_mut();
        self.optimizer.step(q, self.gradients.arena().view(), weights, None)?;
        if self.training.carried {
            let Workspace { first, last, .. } = &mut self.workspace;
            q.copy(last.buffer().view(), first.buffer_mut().view_mut())?;
        }
        Ok(())
    }

    /// Predicts the losses of a window and writes all gradients.
    fn differentiate(&mut self, q: &Q, features: TensorRef<'_, Q, f32>, targets: TensorRef<'_, Q, f32>) -> Result<()> {
        let (plans, work) = (&self.plans, &mut self.workspace);
        let targets = targets.planned(OP, "targets", &plans.targets)?;
        // States of all steps, and the values that the backward pass needs.
        let results = GruResults {
            states: Some(work.states.at_mut()),
            last: work.last.at_mut(),
            saved: Some(work.saved.at_mut()),
        };
        plans.gru.forward(q, &self.weights, features, Some(work.first.at()), results)?;
        let head = self.head.of(&self.weights)?;

        // The states as the head reads them: normalised, then dropped.
        let mut read = work.states.at();
        if let (Some(plan), Some([gamma, beta]), Some([y, stats])) = (&plans.norm, head.norm, &mut work.normalised) {
            let affine = NormAffine { gamma: Some(gamma), beta: Some(beta) };
            plan.layer_norm(q, read, affine, NormResults { y: y.at_mut(), stats: stats.at_mut() })?;
            read = y.at();
        }
        if let (Some(dropout), Some(y)) = (&self.training.dropout, &mut work.dropped) {
            plans.dropout.training_dropout(q, dropout.at(SITE), &self.optimizer, read, y.at_mut())?;
            read = y.at();
        }
        // Losses, errors, and the gradients of the states that were read.
        q.rssm_loss(RssmLoss {
            params: &plans.loss,
            head: q.shorten(head.weights.view()),
            states: q.shorten(read.view()),
            targets,
            predicted: work.predicted.buffer_mut().view_mut(),
            errors: work.errors.buffer_mut().view_mut(),
            slopes: work.slopes.buffer_mut().view_mut(),
            combined: work.combined.buffer_mut().view_mut(),
            d_states: work.d_read.buffer_mut().view_mut(),
        })?;

        // Back through the same dropout mask, then through the norm.
        let mut d = work.d_read.at();
        if let (Some(dropout), Some(y)) = (&self.training.dropout, &mut work.d_normalised) {
            plans.dropout.training_dropout(q, dropout.at(SITE), &self.optimizer, d, y.at_mut())?;
            d = y.at();
        }
        let ids = self.head.norm.into_iter().flatten().collect::<Vec<_>>();
        if let (Some(plan), Some([gamma, _]), Some([_, stats]), Some(dx), &[of_gamma, of_beta]) =
            (&plans.norm, head.norm, &work.normalised, &mut work.d_states, &ids[..])
        {
            let saved = NormSaved { x: work.states.at(), gamma: Some(gamma), stats: stats.at() };
            let [of_gamma, of_beta] = self.gradients.arena_mut().at_mut_each([of_gamma, of_beta])?;
            let of = NormGradients { x: dx.at_mut(), gamma: Some(of_gamma), beta: Some(of_beta) };
            plan.layer_norm_backward(q, saved, d, of)?;
            d = dx.at();
        }
        // The gradient of the head is the sum of slopes times combined states.
        let of_head = self.gradients.arena_mut().at_mut(self.head.weights)?.into_view();
        plans.head.launch(q, work.slopes.buffer().view(), work.combined.buffer().view(), None, of_head)?;
        // Back through the steps, then the gradients of the units.
        let upstream = GruUpstream { states: Some(d), last: None };
        let into = GruGradients { gates: work.d_gates.at_mut(), first: work.d_first.at_mut() };
        plans.gru.backward(q, &self.weights, work.saved.at(), upstream, into)?;
        let values = GruPassValues { x: features.shorten(), saved: work.saved.at(), gates: work.d_gates.at() };
        plans.gradients.weights(q, &mut work.gradients, values, &mut self.gradients)
    }
}

impl HeadIds {
    /// The head among `weights`, or its gradients among theirs.
    fn of<'a, Q: Queue>(&self, weights: &'a GruWeights<Q>) -> Result<RssmHead<'a, Q>> {
        let arena = weights.arena();
        let norm = self.norm.map(|[gamma, beta]| Ok::<_, NnError>([arena.at(gamma)?, arena.at(beta)?]));
        Ok(RssmHead { weights: arena.at(self.weights)?, norm: norm.transpose()?, back: None })
    }
}

impl RssmPlans {
    fn new<Q: Queue>(weights: &GruWeights<Q>, training: RssmTraining) -> Result<Self> {
        let RssmTraining { batch, steps, stochastic, part, head, error, decay, own_data, .. } = training;
        let (members, hidden) = (weights.count(), weights.hidden());
        // Sizes and options that make no step are refused.
        check_norm(OP, training.norm)?;
        if batch == 0 || steps == 0 || hidden == 0 {
            return Err(NnError::EmptyReduction { op: OP });
        }
        check_copy(OP, part, hidden, stochastic)?;
        // The passes of the units and the shapes of the head.
        let inputs = if own_data { GruInputs::MemberSequences } else { GruInputs::Sequence };
        let gru = GruPlan::new(weights, batch, steps, inputs)?;
        let rows = steps * batch; // no larger than the count that the plan has checked
        let both = hidden.checked_add(stochastic).ok_or(NnError::Overflow { op: OP })?;
        let combined = Layout::contiguous(&[members * rows, both])?;
        let (slopes, of_head) = (Layout::contiguous(&[1, members * rows])?, Layout::contiguous(&[1, both])?);
        let names = [("slopes", &slopes), ("combined", &combined), ("gradient", &of_head)];
        // The error is a mean over the rows of a member.
        let loss = RssmLossParams {
            members: members as u64,
            rows: rows as u64,
            hidden: hidden as u64,
            stochastic: stochastic as u64,
            part,
            head,
            error,
            scale: (1.0 / rows as f64) as f32,
            own_targets: u32::from(own_data),
            reserved: 0,
        };
        Ok(Self {
            gradients: GruGradientPlan::new(&gru, decay)?,
            targets: match own_data {
                true => Layout::contiguous(&[members, steps, batch])?,
                false => Layout::contiguous(&[steps, batch])?,
            },
            head: GemmPlan::build(OP, names, Activation::Identity, false)?,
            norm: training.norm.map(|eps| NormPlan::new(gru.states.shape(), eps)).transpose()?,
            dropout: ElementwisePlan::new(gru.states.shape())?,
            gru,
            loss,
        })
    }
}

impl<Q: Queue> Workspace<Q> {
    fn new(q: &Q, plans: &RssmPlans, training: RssmTraining) -> Result<Self> {
        let of = |layout: &Layout| Tensor::alloc(q, layout.shape());
        let [state, states] = [&plans.gru.state, &plans.gru.states];
        let losses = &states.shape()[..3];
        // Results that are read before the first step are zeros.
        let cleared = |shape: &[usize]| {
            let mut tensor = Tensor::alloc(q, shape)?;
            q.clear(tensor.buffer_mut().view_mut())?;
            Ok::<_, NnError>(tensor)
        };
        let mut combined = losses.to_vec();
        combined.push((plans.loss.hidden + plans.loss.stochastic) as usize);
        // Norm and dropout have memory only if the training has them.
        Ok(Self {
            gradients: plans.gradients.workspace(q)?,
            first: cleared(state.shape())?,
            last: of(state)?,
            states: of(states)?,
            saved: of(&plans.gru.saved)?,
            predicted: cleared(losses)?,
            errors: cleared(losses)?,
            slopes: Tensor::alloc(q, losses)?,
            combined: Tensor::alloc(q, &combined)?,
            normalised: match training.norm {
                Some(_) => Some([of(states)?, Tensor::alloc(q, &[2, states.numel() / states.shape()[3]])?]),
                None => None,
            },
            dropped: training.dropout.map(|_| of(states)).transpose()?,
            d_read: of(states)?,
            d_normalised: training.dropout.map(|_| of(states)).transpose()?,
            d_states: training.norm.map(|_| of(states)).transpose()?,
            d_gates: of(&plans.gru.gates)?,
            d_first: of(state)?,
        })
    }
}

debug_fields!(RssmTrainer<Q: Queue> training, weights);
