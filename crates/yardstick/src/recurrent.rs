//! Speed lines of the `recurrent` op set: ensembles of gated recurrent units.

use backend_api::Real;
use half::f16;
use nn_ops::{
    GruColumns, GruInputs, GruMember, GruPlan, GruResults, GruWeights, NnError, OptimizerConfig, Overflow, RssmHead,
    RssmOperands, RssmPlan, RssmSpec, RssmTensors, RssmTrainer, RssmTraining, Tensor,
};
use runtime::AnyQueue;

use crate::{
    Extent, Goal, Line,
    host::{against_peak, tensor, values},
    line::RunSize,
};

/// Members of the ensemble.
const MEMBERS: usize = 5;

/// Elements of the second part of the combined state.
const STOCHASTIC: usize = 32;

/// The sizes of a pass of all members.
#[derive(Clone, Copy)]
struct RecurrentSizes {
    batch: usize,
    steps: usize,
    input: usize,
    hidden: usize,
}

/// Every line of the op set on the processor: 32 rows, ten steps and 256 states.
pub(crate) fn contests() -> Vec<Line> {
    let of = |input| RecurrentSizes { batch: 32, steps: 10, input, hidden: 256 };
    let train = train(of(128), OptimizerConfig::sgd(1e-3, 0.0)).called("nn.bptt_step");
    let time = Goal::Rate(train.size.work / 25e-3);
    let pass = |line: Line| against_peak(line).goal(Goal::Ratio { peer: 1, ratio: 0.88 }, "");
    vec![
        against_peak(train).goal(time, ""),
        pass(forward(of(128), ensemble).called("nn.gru/128x256")),
        pass(forward(of(128), narrowed).called("nn.gru_f16/128x256")),
        pass(rollout(of(64)).called("nn.rssm_rollout/64x256")),
    ]
}

/// Every line of the op set on a device.
pub(crate) fn lines(extent: Extent) -> Vec<Line> {
    let of = |batch, input| match extent {
        Extent::Full => RecurrentSizes { batch, steps: 10, input, hidden: 256 },
        Extent::Small => RecurrentSizes { batch: 5, steps: 2, input: 8, hidden: 16 },
    };
    let batches: &[usize] = match extent {
        Extent::Full => &[1, 32, 256, 4096],
        Extent::Small => &[5],
    };
    let mut all = Vec::new();
    for &batch in batches {
        all.push(forward(of(batch, 128), ensemble));
    }
    for &batch in batches {
        all.push(rollout(of(batch, 64)));
    }
    all.push(train(of(32, 64), OptimizerConfig::adam(1e-3)));
    all
}

/// Random weights of all members.
fn ensemble(
    q: &AnyQueue,
    RecurrentSizes { input, hidden, .. }: RecurrentSizes,
) -> Result<GruWeights<AnyQueue>, NnError> {
    let limit = (2.0 / (input + hidden) as f32).sqrt();
    let of = |rows: usize| values(rows * 3 * hidden, limit);
    let columns = GruColumns { w: of(input), u: of(hidden), b: vec![0.0; 3 * hidden], bu: None };
    GruWeights::new(q, &vec![GruMember::new(input, hidden, columns)?; MEMBERS])
}

/// The same weights in 16 bits.
fn narrowed(q: &AnyQueue, sizes: RecurrentSizes) -> Result<GruWeights<AnyQueue, f16>, NnError> {
    ensemble(q, sizes)?.narrowed(q, Overflow::Refuse)
}

/// The size of a line whose weights have rows in `products` products for each row of a batch.
fn size(products: usize, sizes: RecurrentSizes, floats: usize) -> RunSize {
    let flops = 2.0 * (MEMBERS * sizes.batch) as f64 * (products * 3 * sizes.hidden) as f64;
    RunSize::computing("flop", flops, 4.0 * floats as f64)
}

impl RecurrentSizes {
    /// Weights of all members.
    fn weights(self) -> usize {
        MEMBERS * (self.input + self.hidden + 1) * 3 * self.hidden
    }

    fn id(self, op: &str) -> String {
        let Self { batch, steps, input, hidden } = self;
        format!("nn.{op}/{batch}x{steps}x{input}x{hidden}")
    }
}

/// Makes the weights of an ensemble.
type MakeWeights<T> = fn(&AnyQueue, RecurrentSizes) -> Result<GruWeights<AnyQueue, T>, NnError>;

/// Passes over a sequence, from states of zero.
fn forward<T: Real>(sizes: RecurrentSizes, weights: MakeWeights<T>) -> Line {
    let RecurrentSizes { batch, steps, input, hidden } = sizes;
    let floats = sizes.weights() + steps * batch * input + MEMBERS * batch * hidden;
    Line::new(&sizes.id("gru"), size(steps * (input + hidden), sizes, floats), move |q| {
        let weights = weights(q, sizes)?;
        let plan = GruPlan::new(&weights, batch, steps, GruInputs::Sequence)?;
        let (x, mut last) = (tensor(q, plan.inputs().shape(), 1.0)?, Tensor::alloc(q, &[MEMBERS, batch, hidden])?);
        Ok(Box::new(move |q| {
            let results = GruResults { states: None, last: last.at_mut(), saved: None };
            Ok(plan.forward(q, &weights, x.at(), None, results)?)
        }))
    })
}

/// Roll-outs whose losses are fed back to each member.
fn rollout(sizes: RecurrentSizes) -> Line {
    let RecurrentSizes { batch, steps, input, hidden } = sizes;
    let floats = sizes.weights() + batch * input + 2 * MEMBERS * batch * hidden;
    Line::new(&sizes.id("rssm_rollout"), size(input + steps * hidden, sizes, floats), move |q| {
        let weights = ensemble(q, sizes)?;
        let spec = RssmSpec { batch, steps, stochastic: STOCHASTIC, ..RssmSpec::default() };
        let plan = RssmPlan::new(&weights, spec)?;
        let (head, x) = (tensor(q, &[hidden + STOCHASTIC], 0.1)?, tensor(q, &[batch, input], 0.1)?);
        let (first, losses) = (tensor(q, &[MEMBERS, batch, hidden], 0.1)?, tensor(q, &[MEMBERS, batch], 0.1)?);
        let mut results = RssmTensors::new(q, &plan)?;
        Ok(Box::new(move |q| {
            let operands = RssmOperands { features: x.at(), first: first.at(), losses: losses.at() };
            Ok(plan.run(q, &weights, RssmHead::new(head.at()), operands, results.at_mut())?)
        }))
    })
}

/// Whole steps of training through time.
///
/// A step consists of forward, the head and its errors, backward through time, the gradients of all
/// weights, one norm, and a step of the optimizer. Each weight has three products: forward and for
/// both gradients.
fn train(sizes: RecurrentSizes, optimizer: OptimizerConfig) -> Line {
    let RecurrentSizes { batch, steps, input, hidden } = sizes;
    let floats = 4 * sizes.weights() + 10 * MEMBERS * steps * batch * hidden;
    Line::new(&sizes.id("bptt_step"), size(steps * (2 * input + 3 * hidden), sizes, floats), move |q| {
        let members = ensemble(q, sizes)?.members(q)?;
        let training = RssmTraining { batch, steps, stochastic: STOCHASTIC, ..RssmTraining::default() };
        let optimizer = OptimizerConfig { clip: Some(5.0), ..optimizer };
        let mut trainer = RssmTrainer::new(q, &members, &values(hidden + STOCHASTIC, 0.1), training, optimizer)?;
        let x = tensor(q, &[steps, batch, input], 1.0)?;
        let targets = Tensor::from_values(q, &[steps, batch], &vec![1.0f32; steps * batch])?;
        Ok(Box::new(move |q| Ok(trainer.step(q, x.at(), targets.at())?)))
    })
}
