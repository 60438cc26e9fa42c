//! A thousand iterations of every composite keep the bytes in use as they were after the first ten, on the processor and on the
//! simulated device. A sketched residual, whose kernels take most of the simulator's time, has 250 there.

use backend_api::{Fork as _, Queue as _};
use half::bf16;
use nn_ops::{
    Activation, CorrectionOperands, CorrectionOptions, CorrectionPlan, Dropout, EncoderPlan, EncoderResults,
    GruColumns, GruGradients, GruInputs, GruMember, GruPlan, GruResults, GruUpstream, GruWeights, Indices,
    LinearOperands, Map, Mask, Mlp, NormAffine, NormGradients, NormPlan, NormResults, NormSaved, OptimizerConfig,
    Overflow, Reduction, ResidualPlan, ResidualStore, RssmHead, RssmOperands, RssmPlan, RssmSpec, RssmTensors,
    RssmTrainer, RssmTraining, SoftmaxPlan, SvdOptions, SvdPower, Tensor, TrainingState, TrainingStates, WeightDecay,
    activate, activate_backward, arg_max, binary_in_place, concat, copy, fill, linear, map, matmul,
    matmul_backward_lhs, matmul_backward_rhs, narrow, reduce, select, widen,
};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
use runtime::{AnyQueue, Choice};

use crate::common::{DeviceTensor, open};

/// Iterations, fewer of a sketched residual on the simulated device, and the first ones, after which nothing may change.
const ITERATIONS: usize = 1000;
const SIMULATED_SKETCHES: usize = 250;
const WARM: usize = 10;

/// Numbers within -1..1.
fn values(count: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 37 % 101) as f32 - 50.0) / 50.0).collect()
}

fn tensor(q: &AnyQueue, shape: &[usize]) -> DeviceTensor {
    Tensor::from_values(q, shape, &values(shape.iter().product())).unwrap()
}

/// Memory in use: live and peak bytes of buffers, and a device's usage.
///
/// The latter are bytes held, reclaims, and pinned bytes.
fn usage(q: &AnyQueue) -> [u64; 5] {
    q.finish().unwrap();
    let budget = q.budget();
    let [held, reclaims, pinned] = match q {
        AnyQueue::Cuda(device) => {
            let memory = runtime::cuda_memory(device).unwrap();
            [memory.held_bytes, memory.reclaims, memory.pinned.live_bytes]
        }
        _ => [0; 3],
    };
    [budget.live_bytes(), budget.peak_bytes(), held, reclaims, pinned]
}

fn soak(choice: Choice, iteration: impl FnMut(&AnyQueue) -> Box<dyn FnMut(&AnyQueue)>) {
    soak_for(ITERATIONS, choice, iteration);
}

fn soak_for(iterations: usize, choice: Choice, mut iteration: impl FnMut(&AnyQueue) -> Box<dyn FnMut(&AnyQueue)>) {
    let q = open(choice);
    let start = q.budget().live_bytes();
    let mut once = iteration(&q);
    (0..WARM).for_each(|_| once(&q));
    let before = usage(&q);
    (WARM..iterations).for_each(|_| once(&q));
    assert_eq!(usage(&q), before);
    drop(once);
    assert_eq!(q.budget().live_bytes(), start);
}

fn each(choice: Choice) {
    soak(choice, perceptron);
    soak(choice, attention);
    soak(choice, recurrent);
    soak(choice, rollout);
    soak(choice, ensemble);
    soak(choice, corrections);
    soak(choice, |q| residuals(q, [4, 2]));
    let sketches = if choice == Choice::Sim { SIMULATED_SKETCHES } else { ITERATIONS };
    soak_for(sketches, choice, |q| residuals(q, [66, 65]));
    soak(choice, maps);
    soak(choice, forks);
}

#[test]
fn the_processor_holds_what_it_held_after_the_first_iterations() {
    each(Choice::Cpu);
}

#[test]
fn the_simulated_device_holds_what_it_held_after_the_first_iterations() {
    each(Choice::Sim);
}

/// A step of training, whose loss is read.
fn perceptron(q: &AnyQueue) -> Box<dyn FnMut(&AnyQueue)> {
    let mut network = Mlp::new(q, &[3, 5, 2], &mut ChaCha8Rng::seed_from_u64(1)).unwrap();
    let decay = WeightDecay::Decoupled(0.01);
    let config = OptimizerConfig { decay, ..OptimizerConfig::sgd(0.01, 0.9) };
    let mut training = network.training(q, 4, config).unwrap();
    let (x, y) = (tensor(q, &[4, 3]), Tensor::from_values(q, &[4], &[0u32, 1, 1, 0]).unwrap());
    Box::new(move |q| {
        network.train_step(q, &mut training, x.at(), y.at()).unwrap();
        training.loss(q).unwrap();
        network.classify(q, x.at()).unwrap();
    })
}

/// Scores, a causal softmax, the weighted rows, a residual connection with its norm, an activation and a dense layer; and the
/// gradients of some. Results are new in every iteration.
fn attention(q: &AnyQueue) -> Box<dyn FnMut(&AnyQueue)> {
    let (x, w, columns) = (tensor(q, &[1, 3, 4]), tensor(q, &[4, 4]), tensor(q, &[4]));
    Box::new(move |q| {
        let room = |shape: &[usize]| Tensor::<_, f32>::alloc(q, shape).unwrap();
        let (mut scores, mut shares, mut mixed) = (room(&[1, 3, 3]), room(&[1, 3, 3]), room(&[1, 3, 4]));
        matmul(q, x.at(), x.at().transposed().unwrap(), scores.at_mut()).unwrap();
        let softmax = SoftmaxPlan::new(&[1, 3, 3], 2).unwrap();
        softmax.softmax(q, scores.at(), Mask::Causal { offset: 0 }, shares.at_mut()).unwrap();
        matmul(q, shares.at(), x.at(), mixed.at_mut()).unwrap();
        let (mut sum, mut normed, mut stats) = (room(&[1, 3, 4]), room(&[1, 3, 4]), room(&[2, 3]));
        let norm = NormPlan::new(&[1, 3, 4], 1e-5).unwrap();
        let (gamma, both) = (Some(columns.at()), [x.at(), mixed.at()]);
        let results = NormResults { y: normed.at_mut(), stats: stats.at_mut() };
        norm.add_layer_norm(q, both, NormAffine { gamma, beta: gamma }, sum.at_mut(), results).unwrap();
        let (mut dropped, mut y) = (room(&[1, 3, 4]), room(&[1, 3, 4]));
        Dropout::new(0.25, 3).unwrap().apply(q, 0, 1, normed.at(), dropped.at_mut()).unwrap();
        let operands = LinearOperands { x: dropped.at(), w: w.at(), bias: Some(columns.at()) };
        linear(q, operands, Activation::GeluErf, y.at_mut()).unwrap();

        let (mut dx, mut dy) = (room(&[1, 3, 4]), room(&[1, 3, 4]));
        activate_backward(q, Activation::GeluErf, y.at(), x.at(), dy.at_mut()).unwrap();
        let saved = NormSaved { x: sum.at(), gamma, stats: stats.at() };
        let gradients = NormGradients { x: dx.at_mut(), gamma: None, beta: None };
        norm.layer_norm_backward(q, saved, dy.at(), gradients).unwrap();
        let (mut of_shares, mut of_scores, mut of_rows) = (room(&[1, 3, 3]), room(&[1, 3, 3]), room(&[1, 3, 4]));
        fill(q, 0.0, of_shares.at_mut()).unwrap();
        fill(q, 0.0, of_rows.at_mut()).unwrap();
        matmul_backward_lhs(q, dx.at(), x.at(), of_shares.at_mut()).unwrap();
        matmul_backward_rhs(q, shares.at(), dx.at(), of_rows.at_mut()).unwrap();
        softmax.softmax_backward(q, shares.at(), of_shares.at(), of_scores.at_mut()).unwrap();
    })
}

/// Weights of two units of one size.
fn units(q: &AnyQueue, input: usize, hidden: usize) -> GruWeights<AnyQueue> {
    let [w, u, b] = [input, hidden, 1].map(|rows| values(rows * 3 * hidden));
    let unit = GruMember::new(input, hidden, GruColumns { w, u, b, bu: None }).unwrap();
    GruWeights::new(q, &[unit.clone(), unit]).unwrap()
}

/// A forward and a backward pass.
fn recurrent(q: &AnyQueue) -> Box<dyn FnMut(&AnyQueue)> {
    let (weights, x) = (units(q, 3, 4), tensor(q, &[2, 3, 3]));
    let plan = GruPlan::new(&weights, 3, 2, GruInputs::Sequence).unwrap();
    let [mut last, mut saved] = [&[2, 3, 4][..], &[5, 2, 2, 3, 4]].map(|shape| tensor(q, shape));
    let [mut gates, mut first] = [&[2, 2, 3, 12][..], &[2, 3, 4]].map(|shape| tensor(q, shape));
    Box::new(move |q| {
        let results = GruResults { states: None, last: last.at_mut(), saved: Some(saved.at_mut()) };
        plan.forward(q, &weights, x.at(), None, results).unwrap();
        let upstream = GruUpstream { states: None, last: Some(last.at()) };
        let gradients = GruGradients { gates: gates.at_mut(), first: first.at_mut() };
        plan.backward(q, &weights, saved.at(), upstream, gradients).unwrap();
    })
}

fn rollout(q: &AnyQueue) -> Box<dyn FnMut(&AnyQueue)> {
    let weights = units(q, 3, 4);
    let spec = RssmSpec { batch: 2, steps: 3, stochastic: 2, ..RssmSpec::default() };
    let plan = RssmPlan::new(&weights, spec).unwrap();
    let [head, features, first, losses] = [&[6][..], &[2, 3], &[2, 2, 4], &[2, 2]].map(|shape| tensor(q, shape));
    let mut results = RssmTensors::new(q, &plan).unwrap();
    Box::new(move |q| {
        let operands = RssmOperands { features: features.at(), first: first.at(), losses: losses.at() };
        plan.run(q, &weights, RssmHead::new(head.at()), operands, results.at_mut()).unwrap();
    })
}

/// A step of training through time, whose errors are read.
fn ensemble(q: &AnyQueue) -> Box<dyn FnMut(&AnyQueue)> {
    let member = units(q, 3, 4).members(q).unwrap().remove(0);
    let training = RssmTraining { batch: 2, steps: 3, stochastic: 2, carried: true, ..RssmTraining::default() };
    let optimizer = OptimizerConfig { clip: Some(5.0), ..OptimizerConfig::adam(1e-3) };
    let mut trainer = RssmTrainer::new(q, &[member.clone(), member], &values(6), training, optimizer).unwrap();
    let (x, targets) = (tensor(q, &[3, 2, 3]), Tensor::from_values(q, &[3, 2], &[0.5; 6]).unwrap());
    Box::new(move |q| {
        trainer.step(q, x.at(), targets.at()).unwrap();
        assert_eq!(trainer.errors(q).unwrap().len(), 2);
    })
}

/// Records are written, become features and codes, are stored, and correct a prediction.
fn corrections(q: &AnyQueue) -> Box<dyn FnMut(&AnyQueue)> {
    let mut training = TrainingState::new();
    let mut records = TrainingStates::new(q, &[training.clone(), training.clone()]).unwrap();
    let (encoder, weights, bias) = (EncoderPlan::new(2, 3).unwrap(), tensor(q, &[64, 3]), tensor(q, &[3]));
    let (mut features, mut codes) = (tensor(q, &[2, 64]), tensor(q, &[2, 3]));
    let mut store = ResidualStore::new(q, 5, 64).unwrap();
    let (outcomes, steps, model) = (tensor(q, &[2, 3]), tensor(q, &[2]), tensor(q, &[33]));
    let plan = CorrectionPlan::new(2, 64, CorrectionOptions::default()).unwrap();
    let (mut workspace, mut predictions) = (plan.workspace(q).unwrap(), tensor(q, &[2]));
    Box::new(move |q| {
        training.record_step(1.0, 0.5);
        records.write(q, &[training.clone(), training.clone()]).unwrap();
        let results = EncoderResults { features: Some(features.at_mut()), codes: codes.at_mut() };
        encoder.run(q, &records, weights.at(), bias.at(), results).unwrap();
        store.store(q, features.at(), outcomes.at()).unwrap();
        let operands = CorrectionOperands { features: features.at(), steps: steps.at(), model: model.at() };
        plan.correct(q, &store, operands, predictions.at_mut(), &mut workspace).unwrap();
    })
}

/// A compression with feedback, its rank, and the residual added to a matrix.
fn residuals(q: &AnyQueue, [m, n]: [usize; 2]) -> Box<dyn FnMut(&AnyQueue)> {
    // A sketch of four columns, the fewest.
    let options = SvdOptions { oversample: 3, power: SvdPower::Given(1), ..SvdOptions::default() };
    let plan = ResidualPlan::new(m, n, 1, options).unwrap();
    let (mut compressed, mut workspace) = (plan.compressed(q).unwrap(), plan.workspace(q).unwrap());
    let (residual, mut matrix) = (tensor(q, &[m, n]), tensor(q, &[m, n]));
    let mut error = q.zeros::<f32>(m * n).unwrap();
    Box::new(move |q| {
        plan.compress_with_feedback(q, residual.at(), &mut error, &mut compressed, &mut workspace).unwrap();
        assert_eq!(compressed.factors().rank(q).unwrap(), 1);
        plan.apply(q, 1e-3, &mut compressed, matrix.at_mut()).unwrap();
    })
}

/// Maps, choices, copies, reductions that need memory of their own, conversions that wait, and rows by index.
fn maps(q: &AnyQueue) -> Box<dyn FnMut(&AnyQueue)> {
    let x = tensor(q, &[2, 3, 4]);
    let mask = Tensor::from_values(q, &[2, 3, 4], &[true, false].repeat(12)).unwrap();
    let indices = Indices::new(q, 2, &[1, 0, 1]).unwrap();
    Box::new(move |q| {
        let room = |shape: &[usize]| Tensor::<_, f32>::alloc(q, shape).unwrap();
        let (mut y, mut other) = (room(&[2, 3, 4]), room(&[2, 3, 4]));
        map(q, Map::Exp, x.at(), y.at_mut()).unwrap();
        activate(q, Activation::Tanh, x.at(), other.at_mut()).unwrap();
        binary_in_place(q, nn_ops::Binary::Max, other.at_mut(), y.at()).unwrap();
        let mut chosen = room(&[2, 3, 4]);
        select(q, mask.at(), [y.at(), other.at()], chosen.at_mut()).unwrap();
        let mut turned = room(&[4, 3, 2]);
        copy(q, chosen.at().permuted(&[2, 1, 0]).unwrap(), turned.at_mut()).unwrap();
        let mut joined = q.alloc::<f32>(48).unwrap();
        concat(q, 1, &[x.at(), chosen.at()], &mut joined).unwrap();
        let (mut sums, mut places) = (room(&[3]), Tensor::alloc(q, &[2, 4]).unwrap());
        reduce(q, Reduction::Mean, x.at(), &[0, 2], sums.at_mut()).unwrap();
        arg_max(q, x.at(), 1, places.at_mut()).unwrap();
        let mut narrowed = Tensor::<_, bf16>::alloc(q, &[2, 3, 4]).unwrap();
        narrow(q, Overflow::Refuse, x.at(), narrowed.at_mut()).unwrap();
        widen(q, narrowed.at(), y.at_mut()).unwrap();
        let (mut rows, mut table) = (room(&[3, 3, 4]), room(&[2, 3, 4]));
        indices.gather(q, x.at(), rows.at_mut()).unwrap();
        fill(q, 0.0, table.at_mut()).unwrap();
        indices.scatter_add(q, rows.at(), table.at_mut()).unwrap();
        drop(Indices::new(q, 2, &[1, 1]).unwrap());
        assert_eq!(sums.values(q).unwrap().len(), 3);
    })
}

/// Work on a fork, with memory that is given back there, concurrent with work on the queue.
fn forks(q: &AnyQueue) -> Box<dyn FnMut(&AnyQueue)> {
    let (x, mut y) = (tensor(q, &[4, 4]), tensor(q, &[4, 4]));
    Box::new(move |q| {
        let branch = q.fork().unwrap();
        let mut beside = Tensor::<_, f32>::alloc(&branch, &[4, 4]).unwrap();
        map(&branch, Map::Neg, x.at(), beside.at_mut()).unwrap();
        map(q, Map::Abs, x.at(), y.at_mut()).unwrap();
        q.join(&branch).unwrap();
        binary_in_place(q, nn_ops::Binary::Add, y.at_mut(), beside.at()).unwrap();
    })
}
