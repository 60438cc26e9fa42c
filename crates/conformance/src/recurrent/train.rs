//! Whole steps of training, compared with f64.
//!
//! - The gradients, and the weights after a step, of a plain ensemble.
//! - The gradients against central differences, with states that are normalised and dropped.
//! - Windows that carry states.
//! - Errors that fall.

use backend_api::Queue;
use core_types::params::recurrent::{GruInputs, GruVariant, LossError, LossHead, StateMask, Stochastic};
use nn_ops::{Dropout, GruMember, OptimizerConfig, RssmTrainer, RssmTraining, Tensor};

use super::{
    backward::BackwardInputs,
    differences::{Slopes, unless_differences},
    forward::{VARIANTS, sizes},
    gradients::{self, members},
    loss::Losses,
    model::{EnsembleInputs, StateChange, values},
};
use crate::{Case, Conditioned, Failure, OpSpec, list::ListIterator as _};

/// Members, batch, steps, inputs and states.
const SIZES: [[usize; 5]; 3] = [[1, 1, 1, 1, 2], [2, 3, 4, 5, 8], [3, 5, 3, 4, 17]];

/// Elements of the second part of the combined state.
const STOCHASTIC: usize = 3;

/// An ensemble, its head, a window of features and the losses that followed.
#[derive(Clone)]
struct EnsembleTraining {
    inputs: EnsembleInputs,
    head: Vec<f32>,
    targets: Vec<f32>,
    training: RssmTraining,
}

impl EnsembleTraining {
    fn new(of: [usize; 5], variant: GruVariant, own_data: bool) -> Self {
        let [members, batch, steps, _, hidden] = of;
        let form = if own_data { GruInputs::MemberSequences } else { GruInputs::Sequence };
        let inputs = EnsembleInputs::new(sizes(of), variant, form);
        let rows = if own_data { members } else { 1 } * steps * batch;
        let limit = (1.0 / (hidden + STOCHASTIC) as f32).sqrt();
        let training = RssmTraining {
            batch,
            steps,
            stochastic: STOCHASTIC,
            own_data,
            error: if own_data { LossError::OfLogarithms } else { LossError::OfLosses },
            decay: if own_data { 0.7 } else { 1.0 },
            ..RssmTraining::default()
        };
        Self {
            head: values(21, hidden + STOCHASTIC, 2.0 * limit),
            targets: values(22, rows, 1.0).into_iter().map(|value| 2.0 + value).list(),
            inputs,
            training,
        }
    }

    fn trainer(&self, q: &Conditioned, optimizer: OptimizerConfig) -> Result<RssmTrainer<Conditioned>, Failure> {
        let mut trainer = RssmTrainer::new(q, &members(&self.inputs)?, &self.head, self.training, optimizer)?;
        let p = &self.inputs.params;
        let state = [p.members, p.batch, p.hidden].map(|len| len as usize);
        if let Some(h0) = &self.inputs.h0 {
            trainer.begin(q, Tensor::from_values(q, &state, h0)?.at())?;
        }
        Ok(trainer)
    }

    /// The features and the losses on the device.
    fn data(&self, q: &Conditioned) -> Result<[Tensor<Conditioned, f32>; 2], Failure> {
        let p = &self.inputs.params;
        let [members, steps, batch, input] = [p.members, p.steps, p.batch, p.input].map(|len| len as usize);
        let shape = [members, steps, batch, input];
        let skipped = usize::from(!self.training.own_data);
        Ok([
            Tensor::from_values(q, &shape[skipped..], &self.inputs.x)?,
            Tensor::from_values(q, &shape[skipped..3], &self.targets)?,
        ])
    }

    /// The operands of the head, from f64 states that are rounded to f32 once.
    fn losses(&self, states: &[f64]) -> Losses {
        let RssmTraining { batch, steps, .. } = self.training;
        Losses::of_training(
            &self.training,
            [self.inputs.params.members as usize, steps * batch, self.inputs.params.hidden as usize],
            (self.head.clone(), states.iter().map(|&h| h as f32).list(), self.targets.clone()),
        )
    }

    /// Half the mean squared error of each member, added up, in f64 throughout.
    fn value(&self, change: &StateChange) -> f64 {
        let p = &self.inputs.params;
        let (results, rows, n) = (self.inputs.results(), (p.steps * p.batch) as usize, p.hidden as usize);
        let losses = self.losses(&[]);
        let squares = results.states.chunks(n).enumerate().map(|(row, h)| {
            let target = self.targets[if self.training.own_data { row } else { row % rows }];
            let seen = change.apply((row * n) as u64, h);
            losses.error(&seen, f64::from(target)).2.powi(2)
        });
        squares.sum::<f64>() / (2.0 * rows as f64)
    }
}

/// All numbers of some units, in the order of their tensors.
fn flat(units: &[GruMember]) -> Vec<f32> {
    let of = |part: fn(&GruMember) -> &[f32]| units.iter().flat_map(part).copied();
    of(GruMember::w).chain(of(GruMember::u)).chain(of(GruMember::b)).chain(of(|u| u.bu().unwrap_or_default())).list()
}

/// Checks gradients, their norm, and the weights after a step of gradient descent.
///
/// The norm of the gradients is clipped.
fn whole_step(q: &Conditioned, training: &EnsembleTraining) -> Result<(), Failure> {
    let (rate, clip) = (0.5, 0.05);
    let optimizer = OptimizerConfig { clip: Some(clip), ..OptimizerConfig::sgd(rate, 0.0) };
    let mut trainer = training.trainer(q, optimizer)?;
    let [x, targets] = training.data(q)?;
    let before = trainer.weights().members(q)?;
    trainer.step(q, x.at(), targets.at())?;

    let results = training.inputs.results();
    let losses = training.losses(&results.states);
    let read = losses.results();
    let mut pass = BackwardInputs::of(training.inputs.clone());
    (pass.d_states, pass.d_h_t) = (Some(read.d_states.iter().map(|&d| d as f32).list()), None);
    let all = gradients::expected(&pass, f64::from(training.training.decay));
    let units = [all.w, all.u, all.b, all.bu].concat();
    let mut head = vec![0.0; training.head.len()];
    for (slope, combined) in read.slopes.iter().zip(read.combined.chunks(head.len())) {
        head.iter_mut().zip(combined).for_each(|(sum, v)| *sum += slope * v);
    }
    let norm = units.iter().chain(&head).map(|g| g * g).sum::<f64>().sqrt();
    let (of_units, of_head) = trainer.gradients()?;
    let close = |what: &str, expected: &[f64], got: &[f32]| {
        let largest = expected.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        Failure::unless_close(expected, got, 1e-5, 1e-5 * largest).map_err(|failure| failure.of(what))
    };
    close("gradients of the units", &units, &flat(&of_units.members(q)?))?;
    close("gradients of the head", &head, &q.read(of_head.weights.view())?)?;
    close("the losses", &read.predicted, &q.read(trainer.predicted().view())?)?;
    close("the norm", &[norm], &[trainer.optimizer().state(q)?.norm as f32])?;

    let factor = rate * (clip / (norm + 1e-6)).min(1.0);
    let stepped = |weights: &[f32], of: &[f64]| weights.iter().zip(of).map(|(&w, g)| f64::from(w) - factor * g).list();
    close("the units", &stepped(&flat(&before), &units), &flat(&trainer.weights().members(q)?))?;
    close("the head", &stepped(&training.head, &head), &q.read(trainer.head()?.weights.view())?)
}

/// Gradients through a norm and a dropout of the states, against central differences.
fn differences(q: &Conditioned, variant: GruVariant) -> Result<(), Failure> {
    let mut training = EnsembleTraining::new([2, 2, 3, 2, 4], variant, false);
    let seed = 5;
    training.training.norm = Some(1e-2);
    training.training.dropout = Some(Dropout::new(0.25, seed)?);
    let mut trainer = training.trainer(q, OptimizerConfig::sgd(0.0, 0.0))?;
    let [x, targets] = training.data(q)?;
    trainer.step(q, x.at(), targets.at())?;
    let (units, head) = trainer.gradients()?;
    let units = units.members(q)?;
    let all = |part: fn(&GruMember) -> &[f32]| units.iter().flat_map(part).copied().list();
    let [gamma, beta] = match head.norm {
        Some(norm) => norm.map(|tensor| q.read(tensor.view())),
        None => return Err(Failure::Broken("there is no norm".to_owned())),
    };
    let slopes: [Slopes<(EnsembleTraining, StateChange)>; 7] = [
        ("w", |(t, _)| &mut t.inputs.w, all(GruMember::w)),
        ("u", |(t, _)| &mut t.inputs.u, all(GruMember::u)),
        ("b", |(t, _)| &mut t.inputs.b, all(GruMember::b)),
        ("bu", |(t, _)| t.inputs.bu.as_deref_mut().unwrap_or_default(), all(|u| u.bu().unwrap_or_default())),
        ("the head", |(t, _)| &mut t.head, q.read(head.weights.view())?),
        ("gamma", |(_, change)| change.norm_mut(0), gamma?),
        ("beta", |(_, change)| change.norm_mut(1), beta?),
    ];
    let (threshold, scale) = (1 << 30, 1.0 / 0.75);
    let mask = StateMask { seed, threshold, site: 0, step: 0, scale, reserved: 0 };
    let change = StateChange { norm: Some([vec![1.0; 4], vec![0.0; 4]]), eps: 1e-2, mask };
    let whole = (training, change);
    let value = |(training, change): &(EnsembleTraining, StateChange)| training.value(change);
    unless_differences(&whole, slopes, value)
}

/// Two windows that carry the states predict what one of all their steps does, bit for bit.
fn windows(q: &Conditioned) -> Result<(), Failure> {
    let (batch, input) = (3, 4);
    let whole = EnsembleTraining::new([2, batch, 4, input, 6], GruVariant::ResetBefore, false);
    let still = OptimizerConfig::sgd(0.0, 0.0);
    let mut trainer = whole.trainer(q, still)?;
    let [x, targets] = whole.data(q)?;
    trainer.step(q, x.at(), targets.at())?;
    let expected = q.read(trainer.predicted().view())?;
    let mut half = whole.clone();
    (half.training.steps, half.training.carried) = (2, true);
    let mut trainer = half.trainer(q, still)?;
    for window in 0..2 {
        let steps = 2 * window..2 * window + 2;
        trainer.step(q, x.at().narrowed(0, steps.clone())?, targets.at().narrowed(0, steps)?)?;
        let got = q.read(trainer.predicted().view())?;
        for (member, got) in got.chunks(2 * batch).enumerate() {
            Failure::unless_equal(&expected[(4 * member + 2 * window) * batch..][..2 * batch], got)?;
        }
    }
    Ok(())
}

/// Errors of losses that halve at every step fall to a hundredth in sixty steps of Adam.
fn learning(q: &Conditioned) -> Result<(), Failure> {
    let (batch, steps, hidden) = (4, 3, 6);
    let mut training = EnsembleTraining::new([2, batch, steps, 1, hidden], GruVariant::ResetBefore, false);
    let loss = |step: usize, row: usize| (1.0 + row as f32 / 2.0) * 0.5f32.powi(step as i32);
    training.inputs.x = (0..steps).flat_map(|step| (0..batch).map(move |row| loss(step, row))).list();
    training.targets = (1..=steps).flat_map(|step| (0..batch).map(move |row| loss(step, row))).list();
    training.inputs.h0 = None;
    let optimizer = OptimizerConfig { clip: Some(5.0), ..OptimizerConfig::adam(0.05) };
    let mut trainer = training.trainer(q, optimizer)?;
    let [x, targets] = training.data(q)?;
    trainer.step(q, x.at(), targets.at())?;
    let before = trainer.errors(q)?;
    for _ in 0..60 {
        trainer.step(q, x.at(), targets.at())?;
    }
    for (after, before) in trainer.errors(q)?.into_iter().zip(before) {
        if after.is_nan() || after > 0.01 * before {
            return Err(Failure::Broken(format!("a mean squared error of {before:e} became {after:e}")));
        }
    }
    Ok(())
}

pub(super) fn train() -> OpSpec {
    let mut cases = Vec::new();
    for variant in VARIANTS {
        for of in SIZES {
            cases.push(Case::new(format!("{variant:?}, {of:?}"), move |q| {
                whole_step(q, &EnsembleTraining::new(of, variant, false))?;
                whole_step(q, &EnsembleTraining::new(of, variant, true))
            }));
        }
    }
    for variant in VARIANTS {
        let name = format!("{variant:?}, states that are normalised and dropped");
        cases.push(Case::new(name, move |q| differences(q, variant)));
    }
    cases.push(Case::new("other heads", |q| {
        let mut linear = EnsembleTraining::new([2, 3, 4, 5, 8], GruVariant::ResetBefore, false);
        (linear.training.head, linear.training.part) = (LossHead::Linear, Stochastic::Zeros);
        whole_step(q, &linear)
    }));
    cases.push(Case::new("windows that carry states", windows));
    cases.push(Case::new("errors that fall", learning));
    OpSpec { op: "recurrent.rssm_train", cases }
}
