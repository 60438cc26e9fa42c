//! Roll-outs on features that are given and on those that states are mapped to.

use backend_api::BackendError;
use nn_ops::{
    Activation, Feedback, GruColumns, GruInputs, GruMember, GruPlan, GruResults, GruWeights, Init, LinearOperands,
    NnError, RssmHead, RssmOperands, RssmPlan, RssmSpec, RssmTensors, Stochastic, Tensor, linear,
};
use runtime::AnyQueue;

use crate::common::on_each_device;

const MEMBERS: usize = 2;
const BATCH: usize = 3;
const STEPS: usize = 4;
const FEATURES: usize = 5;
const HIDDEN: usize = 6;

fn drawn(q: &AnyQueue, shape: &[usize], site: u32) -> Tensor<AnyQueue, f32> {
    Tensor::random(q, shape, Init::Uniform { low: -0.8, high: 0.8 }, 11, site).unwrap()
}

fn ensemble(q: &AnyQueue) -> GruWeights<AnyQueue> {
    let member = |number: u32| {
        let of = |rows: usize, site: u32| drawn(q, &[rows, 3 * HIDDEN], 10 * number + site).values(q).unwrap();
        let (w, u, b) = (of(FEATURES, 1), of(HIDDEN, 2), of(1, 3));
        GruMember::new(FEATURES, HIDDEN, GruColumns { w, u, b, bu: None }).unwrap()
    };
    GruWeights::new(q, &[member(1), member(2)]).unwrap()
}

fn spec(steps: usize, feedback: Feedback, features: GruInputs) -> RssmSpec {
    let (stochastic, part) = (0, Stochastic::Zeros);
    RssmSpec { batch: BATCH, steps, feedback, features, stochastic, part, ..RssmSpec::default() }
}

/// The largest difference of two tensors.
fn difference(q: &AnyQueue, a: &Tensor<AnyQueue, f32>, b: &Tensor<AnyQueue, f32>) -> f32 {
    let (a, b) = (a.values(q).unwrap(), b.values(q).unwrap());
    assert_eq!(a.len(), b.len());
    a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

#[test]
fn a_sequence_leaves_the_states_that_a_pass_over_it_leaves() {
    on_each_device(sequence);
}

fn sequence(q: &AnyQueue) {
    let (weights, head) = (ensemble(q), drawn(q, &[HIDDEN], 40));
    let (x, first) = (drawn(q, &[STEPS, BATCH, FEATURES], 41), drawn(q, &[MEMBERS, BATCH, HIDDEN], 42));
    let losses = drawn(q, &[MEMBERS, BATCH], 43);
    let plan = RssmPlan::new(&weights, spec(STEPS, Feedback::None, GruInputs::Sequence)).unwrap();
    assert_eq!(plan.features(), x.layout());
    let mut results = RssmTensors::with_states(q, &plan).unwrap();
    let operands = RssmOperands { features: x.at(), first: first.at(), losses: losses.at() };
    plan.run(q, &weights, RssmHead::new(head.at()), operands, results.at_mut()).unwrap();

    let pass = GruPlan::new(&weights, BATCH, STEPS, GruInputs::Sequence).unwrap();
    let mut states = Tensor::alloc(q, &[MEMBERS, STEPS, BATCH, HIDDEN]).unwrap();
    let mut last = Tensor::alloc(q, &[MEMBERS, BATCH, HIDDEN]).unwrap();
    let into = GruResults { states: Some(states.at_mut()), last: last.at_mut(), saved: None };
    pass.forward(q, &weights, x.at(), Some(first.at()), into).unwrap();
    assert!(difference(q, &results.last, &last) < 1e-6);
    assert!(difference(q, results.states.as_ref().unwrap(), &states) < 1e-6);
    assert_eq!(results.summaries(q).unwrap().len(), BATCH);
}

#[test]
fn states_that_are_fed_back_are_the_features_that_a_linear_layer_makes_of_them() {
    on_each_device(states);
}

fn states(q: &AnyQueue) {
    let (weights, head) = (ensemble(q), drawn(q, &[HIDDEN], 40));
    let (v, biases) = (drawn(q, &[HIDDEN, FEATURES], 44), drawn(q, &[FEATURES], 45));
    let (x, first) = (drawn(q, &[BATCH, FEATURES], 46), drawn(q, &[MEMBERS, BATCH, HIDDEN], 47));
    let losses = drawn(q, &[MEMBERS, BATCH], 48);
    let with_map = || RssmHead { back: Some([v.at(), biases.at()]), ..RssmHead::new(head.at()) };
    let plan = RssmPlan::new(&weights, spec(STEPS, Feedback::State, GruInputs::Constant)).unwrap();
    let mut results = RssmTensors::new(q, &plan).unwrap();
    let operands = RssmOperands { features: x.at(), first: first.at(), losses: losses.at() };
    plan.run(q, &weights, with_map(), operands, results.at_mut()).unwrap();

    // one step at a time
    let step = RssmPlan::new(&weights, spec(1, Feedback::None, GruInputs::MemberConstants)).unwrap();
    let given = x.values(q).unwrap().repeat(MEMBERS);
    let mut x = Tensor::from_values(q, &[MEMBERS, BATCH, FEATURES], &given).unwrap();
    let mut h = first;
    for _ in 0..STEPS {
        let mut of_step = RssmTensors::new(q, &step).unwrap();
        let operands = RssmOperands { features: x.at(), first: h.at(), losses: losses.at() };
        step.run(q, &weights, RssmHead::new(head.at()), operands, of_step.at_mut()).unwrap();
        h = of_step.last;
        let operands = LinearOperands { x: h.at(), w: v.at(), bias: Some(biases.at()) };
        linear(q, operands, Activation::Identity, x.at_mut()).unwrap();
    }
    assert!(difference(q, &results.last, &h) < 1e-5);

    let refused = |plan: &RssmPlan, head| {
        let mut results = RssmTensors::new(q, plan).unwrap();
        let x = Tensor::from_values(q, plan.features().shape(), &vec![0.5; plan.features().numel()]).unwrap();
        let operands = RssmOperands { features: x.at(), first: h.at(), losses: losses.at() };
        plan.run(q, &weights, head, operands, results.at_mut()).unwrap_err()
    };
    let why = "expected `back` with state feedback and with no other feedback";
    let expected = NnError::Backend(BackendError::Unsupported { op: "rssm_rollout", why });
    assert_eq!(refused(&plan, RssmHead::new(head.at())), expected);
    assert_eq!(refused(&step, with_map()), expected);
    let of_losses = RssmPlan::new(&weights, spec(STEPS, Feedback::PerMember, GruInputs::Sequence)).unwrap_err();
    assert!(of_losses.to_string().contains("got a sequence"), "{of_losses}");
}
