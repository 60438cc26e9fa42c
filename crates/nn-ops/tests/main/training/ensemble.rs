//! An ensemble that learns how losses go, and steps of its training that are recorded.

use backend_api::{Queue, Record};
use nn_ops::{
    Dropout, GruColumns, GruMember, Init, NnError, OptimizerConfig, RssmOperands, RssmPlan, RssmSpec, RssmTensors,
    RssmTrainer, RssmTraining, Stochastic, Tensor,
};
use runtime::{AnyQueue, Choice};

use crate::common::open;

const MEMBERS: usize = 3;
const HIDDEN: usize = 12;
const BATCH: usize = 8;
const STEPS: usize = 6;

/// The factor by which row `row` loses at every step.
fn factor(row: usize) -> f32 {
    0.6 + 0.05 * row as f32
}

/// Losses of each row, with a separate start: `[steps + 1, batch]`.
fn losses() -> Vec<f32> {
    let loss = |step: usize, row: usize| (1.0 + 0.25 * (row * 5 % BATCH) as f32) * factor(row).powi(step as i32);
    (0..=STEPS).flat_map(|step| (0..BATCH).map(move |row| loss(step, row))).collect()
}

/// The loss of a row and its factor, for `steps` steps.
fn features(steps: usize) -> Vec<f32> {
    losses()[..steps * BATCH].iter().enumerate().flat_map(|(at, &loss)| [loss, factor(at % BATCH)]).collect()
}

fn trainer<Q: backend_api::ops::linalg::LinalgOps + backend_api::ops::optim::OptimOps>(
    q: &Q,
    dropout: Option<Dropout>,
) -> RssmTrainer<Q> {
    let random = |site: u32, rows: usize| {
        let limit = (2.0 / (2 + HIDDEN) as f32).sqrt();
        Tensor::<Q, f32>::random(q, &[rows, 3 * HIDDEN], Init::Uniform { low: -limit, high: limit }, 3, site)
            .unwrap()
            .values(q)
            .unwrap()
    };
    let unit = |member: u32| {
        let (w, u) = (random(2 * member, 2), random(2 * member + 1, HIDDEN));
        GruMember::new(2, HIDDEN, GruColumns { w, u, b: vec![0.0; 3 * HIDDEN], bu: None }).unwrap()
    };
    let units: Vec<_> = (0..MEMBERS as u32).map(unit).collect();
    let part = Stochastic::Zeros;
    let training = RssmTraining { batch: BATCH, steps: STEPS, stochastic: 0, part, dropout, ..RssmTraining::default() };
    let optimizer = OptimizerConfig { clip: Some(5.0), ..OptimizerConfig::adam(0.01) };
    RssmTrainer::new(q, &units, &[0.1; HIDDEN], training, optimizer).unwrap()
}

#[test]
fn an_ensemble_learns_losses_that_fall_by_factors_it_is_told() {
    let q = runtime::cpu().unwrap();
    let mut trainer = trainer(&q, None);
    let x = Tensor::from_values(&q, &[STEPS, BATCH, 2], &features(STEPS)).unwrap();
    let targets = Tensor::from_values(&q, &[STEPS, BATCH], &losses()[BATCH..]).unwrap();
    for _ in 0..1500 {
        trainer.step(&q, x.at(), targets.at()).unwrap();
    }
    let errors = trainer.errors(&q).unwrap();
    assert!(errors.iter().all(|&error| error < 1e-4), "{errors:?}");

    // Left to its own losses, it goes on as it has seen.
    let (stochastic, part) = (0, Stochastic::Zeros);
    let spec = RssmSpec { batch: BATCH, steps: STEPS, stochastic, part, ..RssmSpec::default() };
    let plan = RssmPlan::new(trainer.weights(), spec).unwrap();
    let start = Tensor::from_values(&q, &[BATCH, 2], &features(1)).unwrap();
    let state = [MEMBERS, BATCH, HIDDEN];
    let first = Tensor::from_values(&q, &state, &[0.0; MEMBERS * BATCH * HIDDEN]).unwrap();
    let before = Tensor::from_values(&q, &[MEMBERS, BATCH], &losses()[..BATCH].repeat(MEMBERS)).unwrap();
    let mut results = RssmTensors::new(&q, &plan).unwrap();
    let head = trainer.head().unwrap();
    let operands = RssmOperands { features: start.at(), first: first.at(), losses: before.at() };
    plan.run(&q, trainer.weights(), head, operands, results.at_mut()).unwrap();
    for (at, loss) in results.trajectory.values(&q).unwrap().into_iter().enumerate() {
        let (row, step) = (at / (STEPS + 1) % BATCH, at % (STEPS + 1));
        let seen = losses()[step * BATCH + row];
        assert!((loss - seen).abs() < 0.15, "row {row} after {step} steps: {loss} instead of {seen}");
    }
}

#[test]
fn a_training_without_rows_steps_or_states_is_refused() {
    let q = runtime::cpu().unwrap();
    for (batch, steps, hidden) in [(0, STEPS, HIDDEN), (BATCH, 0, HIDDEN), (BATCH, STEPS, 0)] {
        let zeros = |rows: usize| vec![0.0; rows * 3 * hidden];
        let columns = GruColumns { w: zeros(2), u: zeros(hidden), b: zeros(1), bu: None };
        let unit = GruMember::new(2, hidden, columns).unwrap();
        let training = RssmTraining { batch, steps, stochastic: 0, part: Stochastic::Zeros, ..RssmTraining::default() };
        let made = RssmTrainer::new(&q, &[unit], &vec![0.1; hidden], training, OptimizerConfig::adam(0.01));
        let refused = made.err();
        assert_eq!(refused, Some(NnError::EmptyReduction { op: "rssm_train" }), "{batch} rows, {steps}, {hidden}");
    }
}

/// The weights, bit for bit.
fn bits(q: &AnyQueue, trainer: &RssmTrainer<AnyQueue>) -> Vec<u32> {
    let units = trainer.weights().members(q).unwrap();
    units.iter().flat_map(|unit| [unit.w(), unit.u(), unit.b()].concat()).map(f32::to_bits).collect()
}

#[test]
fn a_step_that_is_recorded_trains_as_steps_do() {
    let q = open(Choice::Sim);
    let x = Tensor::from_values(&q, &[STEPS, BATCH, 2], &features(STEPS)).unwrap();
    let targets = Tensor::from_values(&q, &[STEPS, BATCH], &losses()[BATCH..]).unwrap();
    let dropout = Some(Dropout::new(0.5, 6).unwrap());
    let mut plain = trainer(&q, dropout);
    (0..4).for_each(|_| plain.step(&q, x.at(), targets.at()).unwrap());

    let mut recorded = trainer(&q, dropout);
    let step = q.record(|q| recorded.step(q, x.at(), targets.at())).unwrap().expect("a step does not wait");
    (0..4).for_each(|_| q.replay(&step).unwrap());
    q.finish().unwrap();
    assert_eq!(recorded.optimizer().state(&q).unwrap().step, 4);
    assert_eq!(bits(&q, &recorded), bits(&q, &plain));
    assert_eq!(recorded.errors(&q).unwrap(), plain.errors(&q).unwrap());
}
