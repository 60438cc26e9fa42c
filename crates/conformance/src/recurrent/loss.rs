//! Errors of predicted losses, and the gradients of the states.
//!
//! The errors are compared with their definition, the gradients with the chain rule and with
//! central differences.

use backend_api::{
    BackendError, Buffer, Queue,
    ops::recurrent::{RecurrentOps, RssmLoss},
};
use core_types::params::recurrent::{LossError, LossHead, RssmLossParams, Stochastic};

use nn_ops::RssmTraining;

use super::{
    differences::{Slopes, unless_differences},
    forward::unless_all_close,
    model::{head_loss, second_part, values},
};
use crate::{Case, Conditioned, Failure, OpSpec, list::ListIterator as _, spec::BATCHES};

/// States of an ensemble, its head, and the losses that were seen.
#[derive(Clone)]
pub(super) struct Losses {
    pub(super) params: RssmLossParams,
    pub(super) head: Vec<f32>,
    pub(super) states: Vec<f32>,
    pub(super) targets: Vec<f32>,
}

/// The outputs of the loss op.
pub(super) struct LossResults<R> {
    pub(super) predicted: Vec<R>,
    pub(super) errors: Vec<R>,
    pub(super) slopes: Vec<R>,
    pub(super) combined: Vec<R>,
    pub(super) d_states: Vec<R>,
}

const MODES: [(Stochastic, LossHead, LossError); 5] = [
    (Stochastic::StridedSoftmax, LossHead::ExpClamped, LossError::OfLosses),
    (Stochastic::StridedSoftmax, LossHead::ExpClamped, LossError::OfLogarithms),
    (Stochastic::StridedSoftmax, LossHead::Linear, LossError::OfLosses),
    (Stochastic::CopyHidden, LossHead::ExpClamped, LossError::OfLosses),
    (Stochastic::Zeros, LossHead::ExpClamped, LossError::OfLogarithms),
];

/// Members, rows, states and elements of the second part.
///
/// They are sizes around vectors and the lanes of a warp, more elements than states, and none.
const SIZES: [[usize; 4]; 9] = [
    [1, 1, 1, 1],
    [2, 3, 8, 4],
    [3, 5, 17, 3],
    [2, 17, 33, 32],
    [1, 6, 48, 33],
    [1, 3, 300, 7],
    [2, 2, 5, 11],
    [2, 3, 6, 0],
    [2, 0, 6, 3],
];

impl Losses {
    fn new(
        [members, rows, hidden, stochastic]: [usize; 4],
        (part, head, error): (Stochastic, LossHead, LossError),
    ) -> Self {
        let stochastic = if part == Stochastic::CopyHidden { hidden } else { stochastic };
        let training =
            RssmTraining { stochastic, part, head, error, own_data: members == 2, ..RssmTraining::default() };
        let limit = (1.0 / (hidden + stochastic) as f32).sqrt();
        let weights = values(13, hidden + stochastic, 2.0 * limit);
        let states = values(14, members * rows * hidden, 1.0);
        let targets = values(15, if training.own_data { members * rows } else { rows }, 1.0);
        let targets = targets.into_iter().map(|target| 2.0 + target).list();
        let mut losses = Self::of_training(&training, [members, rows, hidden], (weights, states, targets));
        losses.params.scale = 0.25;
        losses
    }

    /// The loss operands of `training`, averaged over the rows.
    ///
    /// `states` has the shape members, rows, hidden units.
    pub(super) fn of_training(
        training: &RssmTraining,
        [members, rows, hidden]: [usize; 3],
        (head, states, targets): (Vec<f32>, Vec<f32>, Vec<f32>),
    ) -> Self {
        let params = RssmLossParams {
            members: members as u64,
            rows: rows as u64,
            hidden: hidden as u64,
            stochastic: training.stochastic as u64,
            part: training.part,
            head: training.head,
            error: training.error,
            scale: 1.0 / rows as f32,
            own_targets: u32::from(training.own_data),
            reserved: 0,
        };
        Self { params, head, states, targets }
    }

    /// The states of a row and the loss that it should predict.
    fn row(&self, row: usize) -> (Vec<f64>, f64) {
        let n = self.params.hidden as usize;
        let target = if self.params.own_targets == 1 { row } else { row % self.params.rows as usize };
        (self.states[row * n..][..n].iter().map(|&h| f64::from(h)).list(), f64::from(self.targets[target]))
    }

    /// The second part of the combined state.
    fn part(&self, h: &[f64]) -> Vec<f64> {
        second_part(self.params.part, self.params.stochastic, h)
    }

    /// The product with the head, the loss, and the error.
    pub(super) fn error(&self, h: &[f64], target: f64) -> (f64, f64, f64) {
        let [dot, loss] = head_loss(self.params.head, &self.head, h, &self.part(h));
        let held = dot.clamp(-10.0, 10.0);
        let error = if self.params.error == LossError::OfLosses { loss - target } else { held - target.ln() };
        (dot, loss, error)
    }

    /// By the chain rule, a row at a time.
    pub(super) fn results(&self) -> LossResults<f64> {
        let (mut all, scale) = (
            LossResults { predicted: vec![], errors: vec![], slopes: vec![], combined: vec![], d_states: vec![] },
            f64::from(self.params.scale),
        );
        for row in 0..(self.params.members * self.params.rows) as usize {
            let (h, target) = self.row(row);
            let (dot, loss, error) = self.error(&h, target);
            let linear = self.params.head == LossHead::Linear;
            let inner = if !linear && dot.abs() > 10.0 { 0.0 } else { 1.0 };
            let outer = if linear || self.params.error == LossError::OfLogarithms { 1.0 } else { loss };
            let slope = scale * error * inner * outer;
            let (part, n) = (self.part(&h), h.len());
            let weight = |i: usize| f64::from(self.head[i]);
            let mut d: Vec<f64> = (0..n).map(|j| slope * weight(j)).list();
            match self.params.part {
                Stochastic::CopyHidden => d.iter_mut().enumerate().for_each(|(j, d)| *d += slope * weight(n + j)),
                Stochastic::Zeros => {}
                Stochastic::StridedSoftmax => {
                    let mean: f64 = part.iter().enumerate().map(|(i, p)| p * weight(n + i)).sum();
                    for (i, p) in part.iter().enumerate() {
                        d[i * n / part.len()] += slope * p * (weight(n + i) - mean);
                    }
                }
            }
            all.predicted.push(loss);
            all.errors.push(error);
            all.slopes.push(slope);
            all.combined.extend(h.into_iter().chain(part));
            all.d_states.extend(d);
        }
        all
    }

    fn run(&self, q: &Conditioned) -> Result<LossResults<f32>, BackendError> {
        let (head, states, targets) = (q.upload(&self.head)?, q.upload(&self.states)?, q.upload(&self.targets)?);
        let rows = (self.params.members * self.params.rows) as usize;
        let of = |len: usize| q.alloc::<f32>(rows * len);
        let (mut predicted, mut errors, mut slopes) = (of(1)?, of(1)?, of(1)?);
        let (mut combined, mut d_states) = (of(self.head.len())?, of(self.params.hidden as usize)?);
        q.rssm_loss(RssmLoss {
            params: &self.params,
            head: head.view(),
            states: states.view(),
            targets: targets.view(),
            predicted: predicted.view_mut(),
            errors: errors.view_mut(),
            slopes: slopes.view_mut(),
            combined: combined.view_mut(),
            d_states: d_states.view_mut(),
        })?;
        Ok(LossResults {
            predicted: q.download(&predicted)?,
            errors: q.download(&errors)?,
            slopes: q.download(&slopes)?,
            combined: q.download(&combined)?,
            d_states: q.download(&d_states)?,
        })
    }

    fn hold(&self, q: &Conditioned) -> Result<(), Failure> {
        let (expected, got) = (self.results(), self.run(q)?);
        unless_all_close([
            ("losses", &expected.predicted, &got.predicted),
            ("errors", &expected.errors, &got.errors),
            ("slopes", &expected.slopes, &got.slopes),
            ("combined states", &expected.combined, &got.combined),
            ("gradients", &expected.d_states, &got.d_states),
        ])
    }
}

pub(super) fn loss() -> OpSpec {
    let mut cases = Vec::new();
    for sizes in SIZES {
        cases.push(Case::new(format!("{sizes:?}"), move |q| {
            MODES.into_iter().try_for_each(|mode| {
                Losses::new(sizes, mode).hold(q).map_err(|failure| failure.of(&format!("{mode:?}")))
            })
        }));
    }
    cases.push(Case::new("batches", |q| {
        BATCHES.into_iter().try_for_each(|rows| Losses::new([1, rows as usize, 5, 2], MODES[0]).hold(q))
    }));
    cases.push(Case::new("beyond what is held", |q| {
        for (_, head, error) in MODES {
            let mut losses = Losses::new([1, 8, 9, 4], (Stochastic::StridedSoftmax, head, error));
            losses.head.iter_mut().for_each(|weight| *weight *= 60.0);
            let (expected, got) = (losses.results(), losses.run(q)?);
            Failure::unless_close(&expected.predicted, &got.predicted, 1e-4, 1e-4)?;
            let still = expected.slopes.iter().zip(&got.slopes).all(|(expected, got)| *expected != 0.0 || *got == 0.0);
            if !still || (head == LossHead::ExpClamped && !expected.slopes.contains(&0.0)) {
                return Err(Failure::Broken("a loss that is held has a slope".to_owned()));
            }
        }
        Ok(())
    }));
    cases.push(Case::new("what is not a number", not_numbers));
    cases.push(Case::new("targets without a finite logarithm", |q| {
        let mode = (Stochastic::StridedSoftmax, LossHead::ExpClamped, LossError::OfLogarithms);
        let mut losses = Losses::new([1, 8, 9, 4], mode);
        losses.targets = vec![f32::NAN, f32::INFINITY, 0.0, -0.0, -1.0, 1e-40, f32::MIN_POSITIVE, 1.0];
        // infinite gradients are sums of infinities, in any order
        let (expected, got) = (losses.results(), losses.run(q)?);
        Failure::unless_close(&expected.errors, &got.errors, 1e-5, 5e-6)?;
        Failure::unless_close(&expected.slopes, &got.slopes, 1e-5, 5e-6)
    }));
    cases.push(Case::new("weights of zeros that are not finite", |q| {
        let mut losses = Losses::new([1, 3, 9, 4], (Stochastic::Zeros, LossHead::Linear, LossError::OfLosses));
        let expected = losses.run(q)?.predicted;
        losses.head[9..].copy_from_slice(&[f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1.0]);
        Failure::unless_equal(&expected, &losses.run(q)?.predicted)
    }));
    cases.push(Case::new("central differences", |q| {
        MODES.into_iter().try_for_each(|mode| differences(q, mode).map_err(|failure| failure.of(&format!("{mode:?}"))))
    }));
    cases.push(Case::new("refusals", refusals));
    OpSpec { op: "recurrent.rssm_loss", cases }
}

/// A row with a NaN has NaN for a loss and a gradient, and leaves the others as they are.
fn not_numbers(q: &Conditioned) -> Result<(), Failure> {
    let plain = Losses::new([1, 6, 18, 5], MODES[0]);
    let (expected, mut other) = (plain.run(q)?, plain.clone());
    other.states[2 * 18] = f32::NAN;
    let got = other.run(q)?;
    let rows = expected.d_states.chunks(18).zip(got.d_states.chunks(18)).enumerate();
    for (row, (expected, d)) in rows {
        if row != 2 {
            Failure::unless_equal(expected, d)?;
        } else if !got.predicted[row].is_nan() || d.iter().any(|d| !d.is_nan()) {
            return Err(Failure::Broken(format!("row {row} is not NaN throughout: {d:?}")));
        }
    }
    Ok(())
}

/// The gradients against central differences of `scale / 2` times the sum of squared errors.
fn differences(q: &Conditioned, mode: (Stochastic, LossHead, LossError)) -> Result<(), Failure> {
    let losses = Losses::new([2, 3, 7, 3], mode);
    let got = losses.run(q)?;
    let value = |of: &Losses| {
        let squares = of.results().errors.into_iter().map(|error| error * error);
        0.5 * f64::from(of.params.scale) * squares.sum::<f64>()
    };
    let slopes: [Slopes<Losses>; 1] = [("states", |losses| &mut losses.states, got.d_states)];
    unless_differences(&losses, slopes, value)
}

fn refusals(q: &Conditioned) -> Result<(), Failure> {
    let refused = |what: &str, change: fn(&mut Losses)| {
        let mut losses = Losses::new([2, 3, 5, 2], MODES[0]);
        change(&mut losses);
        Failure::unless_refused(what, losses.run(q).map(drop))
    };
    refused("logarithms of a linear head", |losses| {
        losses.params.head = LossHead::Linear;
        losses.params.error = LossError::OfLogarithms;
    })?;
    refused("a copy of another length", |losses| losses.params.part = Stochastic::CopyHidden)?;
    refused("no states", |losses| {
        losses.params.hidden = 0;
        losses.states.clear();
        losses.head.truncate(2);
    })
}
