//! Optimizers over a hundred steps.
//!
//! Schedule, limit of the norm, decay and loss scale are used together.

use backend_api::Real;
use half::{bf16, f16};
use nn_ops::{
    Annealing, LossScale, NnError, Optimizer, OptimizerConfig, ParameterArena, ParameterSpec, ParameterTable, Rule,
    Schedule, WeightDecay,
};

use super::model::{WeightState, rate};
use crate::{Case, Conditioned, Failure, OpSpec, linalg::model::InputSource, list::ListIterator as _};

pub(super) fn specs() -> Vec<OpSpec> {
    let sgd = |momentum, nesterov, decay, clip| OptimizerConfig {
        rule: Rule::Sgd { momentum, nesterov },
        decay,
        clip,
        schedule: Schedule { rate: 0.01, warmup: 10, annealing: Annealing::Steps { every: 30, factor: 0.5 } },
        ..OptimizerConfig::sgd(0.01, 0.0)
    };
    let adam = |decay, clip, annealing| OptimizerConfig {
        rule: Rule::Adam { beta1: 0.9, beta2: 0.99, eps: 1e-8 },
        decay,
        clip,
        schedule: Schedule { rate: 0.005, warmup: 5, annealing },
        ..OptimizerConfig::adam(0.01)
    };
    let none = WeightDecay::None;
    let all = [
        ("gradient descent", sgd(0.0, false, none, None)),
        ("gradient descent with momentum", sgd(0.9, false, WeightDecay::Coupled(0.01), Some(2.0))),
        ("Nesterov's form", sgd(0.9, true, WeightDecay::Decoupled(0.1), None)),
        ("Adam", adam(none, None, Annealing::Constant)),
        (
            "Adam with coupled decay",
            adam(WeightDecay::Coupled(0.01), None, Annealing::Linear { steps: 80, least: 1e-3 }),
        ),
        ("AdamW", adam(WeightDecay::Decoupled(0.1), Some(1.5), Annealing::Cosine { steps: 60, least: 1e-4 })),
    ];
    let mut cases: Vec<Case> = Vec::new();
    for (name, config) in all {
        cases.push(Case::new(format!("{name}, 100 steps"), move |q| hundred_steps(q, config)));
    }
    cases.push(Case::new("a loss scale in f16 and bf16", |q| {
        scaled::<f16>(q)?;
        scaled::<bf16>(q)
    }));
    vec![OpSpec { op: "optim.optimizer", cases }]
}

/// Two tensors that decay and one that does not, in another order than in the buffer.
fn tensors() -> [ParameterSpec; 3] {
    let bias = ParameterSpec::new("bias", &[7]).without_decay();
    [bias, ParameterSpec::new("weight", &[5, 7]), ParameterSpec::new("other", &[33])]
}

/// Weights and gradients against the recurrences in f64.
///
/// The bound is relative to the greatest weight, since a weight near zero is the difference of
/// greater numbers.
fn hundred_steps(q: &Conditioned, config: OptimizerConfig) -> Result<(), Failure> {
    let table = ParameterTable::new(&tensors())?;
    let (mut values, mut gradients) = (ParameterArena::zeros(q, &table)?, ParameterArena::zeros(q, &table)?);
    let mut optimizer = Optimizer::new(q, config, &table)?;
    let mut model: Vec<Vec<WeightState>> = Vec::new();
    for (i, id) in table.ids().enumerate() {
        let start: Vec<f32> = InputSource::new(i as u64).reals(table.layout(id)?.numel());
        values.write(q, id, &start)?;
        model.push(start.into_iter().map(|w| WeightState::new(w, i > 0)).list());
    }
    for t in 1..=100i32 {
        let mut all: Vec<Vec<f32>> = Vec::new();
        for (i, id) in table.ids().enumerate() {
            let g: Vec<f32> = InputSource::new((t as u64) << 8 | i as u64).reals(table.layout(id)?.numel());
            gradients.write(q, id, &g)?;
            all.push(g);
        }
        optimizer.step(q, gradients.view(), values.view_mut(), None)?;
        let norm = all.iter().flatten().map(|&g| f64::from(g).powi(2)).sum::<f64>().sqrt();
        let shrunk = config.clip.map_or(1.0, |clip| (clip / (norm + 1e-6)).min(1.0));
        let rate = rate(config.schedule, t as u64);
        for (weights, g) in model.iter_mut().zip(&all) {
            for (weight, &g) in weights.iter_mut().zip(g) {
                weight.step(config.rule, config.decay, rate, t, shrunk * f64::from(g));
            }
        }
    }
    for (id, weights) in table.ids().zip(&model) {
        let expected: Vec<f64> = weights.iter().map(|weight| weight.w).list();
        Failure::unless_close(&expected, &values.values(q, id)?, 1e-6, 1e-6)?;
    }
    let state = optimizer.state(q)?;
    Failure::unless_equal(&[100, 0], &[state.step, state.skipped])
}

/// Checks steps whose gradients are the loss scale times one.
///
/// A step is left out if the scale is too great for f16 or a gradient is NaN or infinite.
fn scaled<T: Real>(q: &Conditioned) -> Result<(), Failure> {
    let scale = LossScale { initial: 65_536.0, growth: 2.0, backoff: 0.5, interval: 3 };
    let config = OptimizerConfig { loss_scale: Some(scale), ..OptimizerConfig::sgd(0.5, 0.0) };
    let table = ParameterTable::new(&tensors())?;
    let mut values = ParameterArena::<Conditioned, f32>::zeros(q, &table)?;
    let (mut gradients, mut copy) =
        (ParameterArena::<Conditioned, T>::zeros(q, &table)?, ParameterArena::zeros(q, &table)?);
    let ones = {
        let mut ones = ParameterArena::<Conditioned, f32>::zeros(q, &table)?;
        for id in table.ids() {
            ones.write(q, id, &vec![1.0; table.layout(id)?.numel()])?;
        }
        ones
    };
    let mut optimizer = Optimizer::new(q, config, &table)?;
    let (mut expected, mut taken, mut current, mut sound) = (0.0f32, 0u64, 65_536.0f32, 0);
    for step in 0..9u64 {
        optimizer.scale_loss(q, ones.view(), gradients.view_mut())?;
        if step == 6 {
            let id = table.id("bias")?;
            gradients.write(q, id, &[T::from_f32(f32::NAN); 7])?;
        }
        optimizer.step(q, gradients.view(), values.view_mut(), Some(copy.view_mut()))?;
        if step == 6 || !T::from_f32(current).to_f32().is_finite() {
            (current, sound) = (0.5 * current, 0);
        } else {
            (expected, taken, sound) = (expected - 0.5, taken + 1, sound + 1);
            if sound == 3 {
                (current, sound) = (2.0 * current, 0);
            }
        }
        let state = optimizer.state(q)?;
        Failure::unless_equal(&[taken, step + 1 - taken], &[state.step, state.skipped])?;
        Failure::unless_equal(&[current], &[state.loss_scale])?;
    }
    for id in table.ids() {
        let values = values.values(q, id)?;
        Failure::unless_equal(&vec![expected; values.len()], &values)?;
        Failure::unless_equal(&vec![T::from_f32(expected); values.len()], &copy.values(q, id)?)?;
    }
    let longer = ParameterTable::new(&[ParameterSpec::new("longer", &[1000])])?;
    let wrong = ParameterArena::<Conditioned, T>::zeros(q, &longer)?;
    match optimizer.step(q, wrong.view(), values.view_mut(), None) {
        Err(NnError::Length { tensor: "gradients", .. }) => Ok(()),
        other => Err(Failure::Broken(format!("gradients of another table: {other:?}"))),
    }
}
