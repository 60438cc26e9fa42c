//! Speed lines of the `recurrent` op set, on one thread: five members of 256 states, 32 rows, ten steps.

use std::{hint::black_box, num::NonZeroUsize};

use backend_api::{Buffer, Queue};
use cpu_backend::{CpuConfig, CpuQueue};
use nn_ops::{
    GruInputs, GruMember, GruPlan, GruResults, GruWeights, NnError, RssmPlan, RssmResults, RssmSpec, TensorMut,
    TensorRef,
};
use yardstick::fma_peak;

use super::{Contender, Contest, Goal, Show};

const MEMBERS: usize = 5;
const BATCH: usize = 32;
const STEPS: usize = 10;
const HIDDEN: usize = 256;
const STATE: [usize; 3] = [MEMBERS, BATCH, HIDDEN];

/// Every contest of the op set, by name, each built only when its turn comes.
#[must_use]
pub fn contests() -> Vec<(String, Box<dyn FnOnce() -> Contest>)> {
    vec![("nn.gru/128x256".to_owned(), Box::new(forward)), ("nn.rssm_rollout/64x256".to_owned(), Box::new(rollout))]
}

/// One thread on the strongest path.
#[expect(clippy::expect_used, reason = "a bench without its queue cannot go on")]
fn queue() -> CpuQueue {
    CpuQueue::open(CpuConfig { threads: NonZeroUsize::new(1), ..CpuConfig::default() }).expect("one thread is enough")
}

/// Values in `-size..size`.
fn values(count: usize, size: f32) -> Vec<f32> {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((state >> 8) as f32 / (1 << 23) as f32 - 1.0) * size
    };
    (0..count).map(|_| next()).collect()
}

/// An ensemble that takes `input` features.
fn ensemble(q: &CpuQueue, input: usize) -> Result<GruWeights<CpuQueue>, NnError> {
    let limit = (2.0 / (input + HIDDEN) as f32).sqrt();
    let of = |rows: usize| values(rows * 3 * HIDDEN, limit);
    let unit = GruMember::new(input, HIDDEN, of(input), of(HIDDEN), vec![0.0; 3 * HIDDEN], None)?;
    GruWeights::new(q, &vec![unit; MEMBERS])
}

/// A contest of `flops` operations in products, with the gates beside them, against the processor's peak.
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

#[expect(clippy::expect_used, reason = "a bench without its memory cannot go on")]
fn forward() -> Contest {
    const INPUT: usize = 128;
    let q = queue();
    let weights = ensemble(&q, INPUT).expect("memory");
    let plan = GruPlan::new(&weights, BATCH, STEPS, GruInputs::Sequence).expect("the sizes are valid");
    let x = q.upload(&values(STEPS * BATCH * INPUT, 1.0)).expect("memory");
    let mut last = q.zeros::<f32>(MEMBERS * BATCH * HIDDEN).expect("memory");
    let mut run = move || {
        let last = TensorMut::contiguous(last.view_mut(), &STATE)?;
        let results = GruResults { states: None, last, saved: None };
        plan.forward(&q, &weights, TensorRef::new(x.view(), *plan.inputs())?, None, results)
    };
    let flops = MEMBERS * STEPS * BATCH * 2 * (INPUT + HIDDEN) * 3 * HIDDEN;
    contest("nn.gru/128x256", flops, Contender::new("trefoil", move || run().expect("the tensors fit the plan")))
}

#[expect(clippy::expect_used, reason = "a bench without its memory cannot go on")]
fn rollout() -> Contest {
    const INPUT: usize = 64;
    const STOCHASTIC: usize = 32;
    const BOTH: usize = HIDDEN + STOCHASTIC;
    let q = queue();
    let weights = ensemble(&q, INPUT).expect("memory");
    let spec = RssmSpec { batch: BATCH, steps: STEPS, stochastic: STOCHASTIC, ..RssmSpec::default() };
    let plan = RssmPlan::new(&weights, spec).expect("the sizes are valid");
    let rows = MEMBERS * BATCH;
    let upload = |count: usize| q.upload(&values(count, 0.1)).expect("memory");
    let (head, x, first, losses) = (upload(BOTH), upload(BATCH * INPUT), upload(rows * HIDDEN), upload(rows));
    let zeros = |count: usize| q.zeros::<f32>(count).expect("memory");
    let (mut trajectory, mut last) = (zeros(rows * (STEPS + 1)), zeros(rows * HIDDEN));
    let (mut combined, mut entropy) = (zeros(rows * BOTH), zeros(rows));
    let mut run = move || {
        let results = RssmResults {
            trajectory: TensorMut::contiguous(trajectory.view_mut(), &[MEMBERS, BATCH, STEPS + 1])?,
            last: TensorMut::contiguous(last.view_mut(), &STATE)?,
            combined: TensorMut::contiguous(combined.view_mut(), &[MEMBERS, BATCH, BOTH])?,
            entropy: TensorMut::contiguous(entropy.view_mut(), &[MEMBERS, BATCH])?,
        };
        let (head, x) =
            (TensorRef::contiguous(head.view(), &[BOTH])?, TensorRef::contiguous(x.view(), &[BATCH, INPUT])?);
        let first = TensorRef::contiguous(first.view(), &STATE)?;
        let losses = TensorRef::contiguous(losses.view(), &[MEMBERS, BATCH])?;
        plan.run(&q, &weights, head, x, first, losses, results)
    };
    let flops = MEMBERS * BATCH * 2 * (INPUT + STEPS * HIDDEN) * 3 * HIDDEN;
    contest(
        "nn.rssm_rollout/64x256",
        flops,
        Contender::new("trefoil", move || run().expect("the tensors fit the plan")),
    )
}
