//! Device speed of ensembles of gated recurrent units.

use backend_api::{Buffer, Queue};
use nn_ops::{
    GruColumns, GruInputs, GruMember, GruPlan, GruResults, GruWeights, NnError, OptimizerConfig, RssmHead,
    RssmOperands, RssmPlan, RssmSpec, RssmTensors, RssmTrainer, RssmTraining, Tensor, TensorMut, TensorRef,
};

use super::{DeviceLine, Extent, RunSize};

/// Members of the ensemble.
const MEMBERS: usize = 5;

/// Elements of the second part of the combined state.
const STOCHASTIC: usize = 32;

pub(super) fn lines(extent: Extent) -> Vec<DeviceLine> {
    match extent {
        Extent::Full => {
            let mut all: Vec<_> = [1, 32, 256, 4096].map(|batch| forward(batch, 10, 128, 256)).into();
            all.extend([1, 32, 256, 4096].map(|batch| rollout(batch, 10, 64, 256)));
            all.push(train(32, 10, 64, 256));
            all
        }
        Extent::Small => vec![forward(5, 2, 8, 16), rollout(5, 2, 8, 16), train(5, 2, 8, 16)],
    }
}

/// A member whose weights are all the same.
fn member(input: usize, hidden: usize) -> Result<GruMember, NnError> {
    let of = |rows: usize| vec![1.0 / (input + hidden) as f32; rows * 3 * hidden];
    GruMember::new(input, hidden, GruColumns { w: of(input), u: of(hidden), b: vec![0.0; 3 * hidden], bu: None })
}

/// Passes over a sequence, from states of zero.
fn forward(batch: usize, steps: usize, input: usize, hidden: usize) -> DeviceLine {
    let flops = 2.0 * (MEMBERS * steps * batch) as f64 * ((input + hidden) * 3 * hidden) as f64;
    let weights = MEMBERS * (input + hidden + 1) * 3 * hidden;
    let floats = weights + steps * batch * input + MEMBERS * batch * hidden;
    let size = RunSize { unit: "flop", work: flops, bytes: 0.0, resident: 4.0 * floats as f64 };
    DeviceLine::new(format!("nn.gru/{batch}x{steps}x{input}x{hidden}"), size, move |q| {
        let weights = GruWeights::new(q, &vec![member(input, hidden)?; MEMBERS])?;
        let plan = GruPlan::new(&weights, batch, steps, GruInputs::Sequence)?;
        let x = q.upload(&vec![0.5f32; steps * batch * input])?;
        let mut last = q.zeros::<f32>(MEMBERS * batch * hidden)?;
        Ok(Box::new(move |q| {
            let last = TensorMut::contiguous(last.view_mut(), &[MEMBERS, batch, hidden])?;
            let results = GruResults { states: None, last, saved: None };
            Ok(plan.forward(q, &weights, TensorRef::new(x.view(), *plan.inputs())?, None, results)?)
        }))
    })
}

/// Roll-outs whose losses are fed back to each member.
fn rollout(batch: usize, steps: usize, input: usize, hidden: usize) -> DeviceLine {
    let flops = 2.0 * (MEMBERS * batch) as f64 * ((input + steps * hidden) * 3 * hidden) as f64;
    let weights = MEMBERS * (input + hidden + 1) * 3 * hidden;
    let floats = weights + batch * input + 2 * MEMBERS * batch * hidden;
    let size = RunSize { unit: "flop", work: flops, bytes: 0.0, resident: 4.0 * floats as f64 };
    DeviceLine::new(format!("nn.rssm_rollout/{batch}x{steps}x{input}x{hidden}"), size, move |q| {
        let weights = GruWeights::new(q, &vec![member(input, hidden)?; MEMBERS])?;
        let spec = RssmSpec { batch, steps, stochastic: STOCHASTIC, ..RssmSpec::default() };
        let plan = RssmPlan::new(&weights, spec)?;
        let (both, rows) = (hidden + STOCHASTIC, [MEMBERS, batch]);
        let of = |shape: &[usize]| Tensor::from_values(q, shape, &vec![0.01f32; shape.iter().product()]);
        let (head, x, first, losses) = (of(&[both])?, of(&[batch, input])?, of(&[MEMBERS, batch, hidden])?, of(&rows)?);
        let mut results = RssmTensors::new(q, &plan)?;
        Ok(Box::new(move |q| {
            let operands = RssmOperands { features: x.at(), first: first.at(), losses: losses.at() };
            Ok(plan.run(q, &weights, RssmHead::new(head.at()), operands, results.at_mut())?)
        }))
    })
}

/// Steps of training through time.
///
/// Each weight has three products: forward and for both gradients.
fn train(batch: usize, steps: usize, input: usize, hidden: usize) -> DeviceLine {
    let flops = 2.0 * (MEMBERS * steps * batch) as f64 * ((2 * input + 3 * hidden) * 3 * hidden) as f64;
    let weights = 4 * MEMBERS * (input + hidden + 1) * 3 * hidden;
    let floats = weights + 10 * MEMBERS * steps * batch * hidden;
    let size = RunSize { unit: "flop", work: flops, bytes: 0.0, resident: 4.0 * floats as f64 };
    DeviceLine::new(format!("nn.bptt_step/{batch}x{steps}x{input}x{hidden}"), size, move |q| {
        let training = RssmTraining { batch, steps, stochastic: STOCHASTIC, ..RssmTraining::default() };
        let optimizer = OptimizerConfig { clip: Some(5.0), ..OptimizerConfig::adam(1e-3) };
        let (members, head) = (vec![member(input, hidden)?; MEMBERS], vec![0.01; hidden + STOCHASTIC]);
        let mut trainer = RssmTrainer::new(q, &members, &head, training, optimizer)?;
        let x = Tensor::from_values(q, &[steps, batch, input], &vec![0.5f32; steps * batch * input])?;
        let targets = Tensor::from_values(q, &[steps, batch], &vec![1.0f32; steps * batch])?;
        Ok(Box::new(move |q| Ok(trainer.step(q, x.at(), targets.at())?)))
    })
}
