//! A whole cycle of prediction: records of trainings, their codes, a roll-out from them, and corrections by how earlier ones came
//! out. On the processor and on the simulated device.

use backend_api::Queue as _;
use nn_ops::{
    Activation, CorrectionOperands, CorrectionOptions, CorrectionPlan, EncoderPlan, EncoderResults, GruColumns,
    GruMember, GruWeights, Init, LinearOperands, ResidualStore, RssmHead, RssmOperands, RssmPlan, RssmSpec,
    RssmTensors, Tensor, TrainingState, TrainingStates, linear,
};
use runtime::{AnyQueue, Choice};

use crate::common::open;

const TRAININGS: usize = 4;
const FEATURES: usize = 64;
const CODE: usize = 12;
const HIDDEN: usize = 40;
const MEMBERS: usize = 2;
const STEPS: usize = 3;
const STOCHASTIC: usize = 4;
const STATES: usize = 5;

/// The loss of a training after a step; each training's loss falls by a different factor.
fn loss(training: usize, step: i32) -> f32 {
    3.0 * (0.9 + 0.02 * training as f32).powi(step)
}

/// Trainings as they stand.
fn trainings() -> Vec<TrainingState> {
    let training = |number: usize| {
        let mut state = TrainingState::new();
        (0..40).for_each(|step| state.record_step(loss(number, step), 1.0 / (1.0 + step as f32)));
        state
    };
    (0..TRAININGS).map(training).collect()
}

/// The results of a cycle.
#[derive(Debug)]
struct CycleResults {
    /// Predicted losses, `[members, trainings, steps + 1]`.
    trajectory: Vec<f32>,
    /// Predicted states, `[members, steps, trainings, states]`.
    states: Vec<f32>,
    /// The last losses of the first member, corrected.
    corrected: Vec<f32>,
}

fn cycle(q: &AnyQueue) -> CycleResults {
    let zeros = |shape: &[usize]| Tensor::from_values(q, shape, &vec![0.0f32; shape.iter().product()]).unwrap();
    let drawn = |shape: &[usize], site: u32| Tensor::<AnyQueue, f32>::random(q, shape, Init::Glorot, 5, site).unwrap();
    // features and codes
    let records = TrainingStates::new(q, &trainings()).unwrap();
    let encoder = EncoderPlan::new(TRAININGS, CODE).unwrap();
    let (weights, bias) = (drawn(&[FEATURES, CODE], 0), zeros(&[CODE]));
    let mut features = Tensor::alloc(q, &[TRAININGS, FEATURES]).unwrap();
    let mut codes = Tensor::alloc(q, &[TRAININGS, CODE]).unwrap();
    let into = EncoderResults { features: Some(features.at_mut()), codes: codes.at_mut() };
    encoder.run(q, &records, weights.at(), bias.at(), into).unwrap();

    // the roll-out, whose states predict more than losses
    let member = |number: u32| {
        let (w, u) = (drawn(&[CODE, 3 * HIDDEN], 1 + 2 * number), drawn(&[HIDDEN, 3 * HIDDEN], 2 + 2 * number));
        let (w, u) = (w.values(q).unwrap(), u.values(q).unwrap());
        GruMember::new(CODE, HIDDEN, GruColumns { w, u, b: vec![0.0; 3 * HIDDEN], bu: None }).unwrap()
    };
    let members = GruWeights::new(q, &(0..MEMBERS as u32).map(member).collect::<Vec<_>>()).unwrap();
    let spec = RssmSpec { batch: TRAININGS, steps: STEPS, stochastic: STOCHASTIC, ..RssmSpec::default() };
    let plan = RssmPlan::new(&members, spec).unwrap();
    let (head, first) = (drawn(&[HIDDEN + STOCHASTIC, 1], 9), zeros(&[MEMBERS, TRAININGS, HIDDEN]));
    let head = Tensor::from_values(q, &[HIDDEN + STOCHASTIC], &head.values(q).unwrap()).unwrap();
    let now: Vec<f32> = (0..TRAININGS).map(|number| loss(number, 39)).collect();
    let losses = Tensor::from_values(q, &[MEMBERS, TRAININGS], &now.repeat(MEMBERS)).unwrap();
    let room = |shape: &[usize]| Tensor::<AnyQueue, f32>::alloc(q, shape).unwrap();
    let mut results = RssmTensors::with_states(q, &plan).unwrap();
    let operands = RssmOperands { features: codes.at(), first: first.at(), losses: losses.at() };
    plan.run(q, &members, RssmHead::new(head.at()), operands, results.at_mut()).unwrap();
    let (trajectory, states) = (results.trajectory, results.states.unwrap());
    let (of_states, mut predicted) = (drawn(&[HIDDEN, STATES], 11), room(&[MEMBERS, STEPS, TRAININGS, STATES]));
    let operands = LinearOperands { x: states.at(), w: of_states.at(), bias: None };
    linear(q, operands, Activation::Identity, predicted.at_mut()).unwrap();

    // what came out of states like these: the first two by 0.25 more than was predicted, the others by 0.5 less
    let mut store = ResidualStore::new(q, 8, FEATURES).unwrap();
    let residual = |number: usize| if number < 2 { 0.25 } else { -0.5 };
    let outcomes: Vec<f32> = (0..TRAININGS).flat_map(|number| [residual(number), 40.0, 1.0]).collect();
    let outcomes = Tensor::from_values(q, &[TRAININGS, 3], &outcomes).unwrap();
    store.store(q, features.at(), outcomes.at()).unwrap();
    let options = CorrectionOptions { similar: 1, coefficients: 0, ..CorrectionOptions::default() };
    let correction = CorrectionPlan::new(TRAININGS, FEATURES, options).unwrap();
    let mut workspace = correction.workspace(q).unwrap();
    let (steps, model) = (Tensor::from_values(q, &[TRAININGS], &[40.0; TRAININGS]).unwrap(), zeros(&[1]));
    let trajectory = trajectory.values(q).unwrap();
    let of_first: Vec<f32> = trajectory.chunks(STEPS + 1).take(TRAININGS).map(|losses| losses[STEPS]).collect();
    let mut corrected = Tensor::from_values(q, &[TRAININGS], &of_first).unwrap();
    let operands = CorrectionOperands { features: features.at(), steps: steps.at(), model: model.at() };
    correction.correct(q, &store, operands, corrected.at_mut(), &mut workspace).unwrap();
    CycleResults { trajectory, states: predicted.values(q).unwrap(), corrected: corrected.values(q).unwrap() }
}

#[test]
fn records_become_codes_predictions_and_corrected_losses_on_both_backends() {
    let [cpu, sim] = [Choice::Cpu, Choice::Sim].map(|choice| {
        let q = open(choice);
        let results = cycle(&q);
        q.finish().unwrap();
        assert_eq!(q.budget().live_bytes(), 0, "{choice}");
        results
    });
    for (what, cpu, sim) in [
        ("trajectory", &cpu.trajectory, &sim.trajectory),
        ("states", &cpu.states, &sim.states),
        ("corrected", &cpu.corrected, &sim.corrected),
    ] {
        let close = cpu.iter().zip(sim).all(|(cpu, sim)| (cpu - sim).abs() <= 1e-5 * cpu.abs().max(1.0));
        assert!(cpu.len() == sim.len() && close, "{what}: {cpu:?} {sim:?}");
    }
    let losses = cpu.trajectory.chunks(STEPS + 1).take(TRAININGS).map(|losses| losses[STEPS]);
    for (number, (loss, corrected)) in losses.zip(&cpu.corrected).enumerate() {
        // a state is most like itself; seven tenths of its residual, and at most a fifth of the prediction
        let residual = if number < 2 { 0.25 } else { -0.5 };
        let expected = loss + (0.7_f32 * residual).clamp(-0.2 * loss, 0.2 * loss);
        assert!((corrected - expected).abs() < 1e-5, "training {number}: {corrected} instead of {expected}");
    }
}
