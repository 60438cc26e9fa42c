//! Speed lines of the `recurrent` op set, on one thread.
//!
//! They have five members of 256 states, 32 rows and ten steps.

use std::hint::black_box;

use crate::peers::fma_peak;
use cpu_backend::CpuQueue;
use half::f16;
use nn_ops::{
    GruColumns, GruInputs, GruMember, GruPlan, GruResults, GruWeights, NnError, OptimizerConfig, Overflow, RssmHead,
    RssmOperands, RssmPlan, RssmSpec, RssmTensors, RssmTrainer, RssmTraining, Tensor,
};

use super::{Contender, Contest, Goal, Show, host};

const MEMBERS: usize = 5;
const BATCH: usize = 32;
const STEPS: usize = 10;
const HIDDEN: usize = 256;
const STATE: [usize; 3] = [MEMBERS, BATCH, HIDDEN];

/// Every contest of the op set, by name, each built only when its turn comes.
#[must_use]
pub(crate) fn contests() -> Vec<(String, Box<dyn FnOnce() -> Contest>)> {
    vec![
        ("nn.bptt_step".to_owned(), Box::new(train)),
        ("nn.gru/128x256".to_owned(), Box::new(forward)),
        ("nn.gru_f16/128x256".to_owned(), Box::new(forward_f16)),
        ("nn.rssm_rollout/64x256".to_owned(), Box::new(rollout)),
    ]
}

/// An ensemble that takes `input` features.
fn ensemble(q: &CpuQueue, input: usize) -> Result<GruWeights<CpuQueue>, NnError> {
    let limit = (2.0 / (input + HIDDEN) as f32).sqrt();
    let of = |rows: usize| host::values(rows * 3 * HIDDEN, limit);
    let columns = GruColumns { w: of(input), u: of(HIDDEN), b: vec![0.0; 3 * HIDDEN], bu: None };
    let unit = GruMember::new(input, HIDDEN, columns)?;
    GruWeights::new(q, &vec![unit; MEMBERS])
}

/// A contest of products (`flops` operations) and uncounted gates against the peak rate.
fn contest(id: &str, flops: usize, ours: Contender) -> Contest {
    let peak = Contender::new("multiply-adds at peak", move || {
        black_box(fma_peak(flops as u64));
    });
    Contest {
        id: id.to_owned(),
        unit: "flop",
        work: flops as f64,
        show: Show::Rate,
        contenders: vec![ours, peak],
        goals: vec![(Goal::Ratio { peer: 1, ratio: 0.88 }, "")],
    }
}

fn forward() -> Contest {
    const INPUT: usize = 128;
    let ours = host::ours(|q| {
        let weights = ensemble(&q, INPUT)?;
        let plan = GruPlan::new(&weights, BATCH, STEPS, GruInputs::Sequence)?;
        let x = host::tensor(&q, plan.inputs().shape(), 1.0)?;
        let mut last = Tensor::alloc(&q, &STATE)?;
        Ok(Box::new(move || {
            let results = GruResults { states: None, last: last.at_mut(), saved: None };
            plan.forward(&q, &weights, x.at(), None, results)
        }))
    });
    contest("nn.gru/128x256", MEMBERS * STEPS * BATCH * 2 * (INPUT + HIDDEN) * 3 * HIDDEN, ours)
}

fn forward_f16() -> Contest {
    const INPUT: usize = 128;
    let ours = host::ours(|q| {
        let weights = ensemble(&q, INPUT)?.narrowed::<f16>(&q, Overflow::Refuse)?;
        let plan = GruPlan::new(&weights, BATCH, STEPS, GruInputs::Sequence)?;
        let x = host::tensor(&q, plan.inputs().shape(), 1.0)?;
        let mut last = Tensor::alloc(&q, &STATE)?;
        Ok(Box::new(move || {
            let results = GruResults { states: None, last: last.at_mut(), saved: None };
            plan.forward(&q, &weights, x.at(), None, results)
        }))
    });
    contest("nn.gru_f16/128x256", MEMBERS * STEPS * BATCH * 2 * (INPUT + HIDDEN) * 3 * HIDDEN, ours)
}

/// A whole step of training.
///
/// It consists of forward, the head and its errors, backward through time, the gradients of all
/// weights, one norm, and gradient descent.
fn train() -> Contest {
    const INPUT: usize = 128;
    const STOCHASTIC: usize = 32;
    let ours = host::ours(|q| {
        let units = ensemble(&q, INPUT)?.members(&q)?;
        let training = RssmTraining { batch: BATCH, steps: STEPS, stochastic: STOCHASTIC, ..RssmTraining::default() };
        let optimizer = OptimizerConfig { clip: Some(5.0), ..OptimizerConfig::sgd(1e-3, 0.0) };
        let mut trainer = RssmTrainer::new(&q, &units, &host::values(HIDDEN + STOCHASTIC, 0.1), training, optimizer)?;
        let x = host::tensor(&q, &[STEPS, BATCH, INPUT], 1.0)?;
        let targets = Tensor::from_values(&q, &[STEPS, BATCH], &[1.0; STEPS * BATCH])?;
        Ok(Box::new(move || trainer.step(&q, x.at(), targets.at())))
    });
    // Products with W and U forward, with U backward, and for the gradients of both.
    let of_row = 2 * (INPUT + HIDDEN) * 3 * HIDDEN;
    let flops = MEMBERS * STEPS * BATCH * (2 * of_row + 2 * HIDDEN * 3 * HIDDEN);
    let mut contest = contest("nn.bptt_step", flops, ours);
    contest.goals = vec![(Goal::Rate(flops as f64 / 25e-3), "")];
    contest
}

fn rollout() -> Contest {
    const INPUT: usize = 64;
    const STOCHASTIC: usize = 32;
    const BOTH: usize = HIDDEN + STOCHASTIC;
    let ours = host::ours(|q| {
        let weights = ensemble(&q, INPUT)?;
        let spec = RssmSpec { batch: BATCH, steps: STEPS, stochastic: STOCHASTIC, ..RssmSpec::default() };
        let plan = RssmPlan::new(&weights, spec)?;
        let (head, x) = (host::tensor(&q, &[BOTH], 0.1)?, host::tensor(&q, &[BATCH, INPUT], 0.1)?);
        let (first, losses) = (host::tensor(&q, &STATE, 0.1)?, host::tensor(&q, &[MEMBERS, BATCH], 0.1)?);
        let mut results = RssmTensors::new(&q, &plan)?;
        Ok(Box::new(move || {
            let operands = RssmOperands { features: x.at(), first: first.at(), losses: losses.at() };
            plan.run(&q, &weights, RssmHead::new(head.at()), operands, results.at_mut())
        }))
    });
    contest("nn.rssm_rollout/64x256", MEMBERS * BATCH * 2 * (INPUT + STEPS * HIDDEN) * 3 * HIDDEN, ours)
}
