//! The record of steps: sums of squares, the next step, and losses times their scale.

use backend_api::{
    Buffer as _, Queue, Real,
    ops::optim::{AdvanceStep, OptimOps, ScaleLoss, SquareSums},
};
use core_types::params::optim::{AdvanceParams, Anneal, PART, ScheduleParams, StepState};

use super::typed;
use crate::{Case, Conditioned, Failure, OpSpec, linalg::model::InputSource, list::ListIterator as _, spec::BATCHES};

pub(super) fn specs() -> Vec<OpSpec> {
    vec![sums(), records(), losses()]
}

fn near(what: &str, expected: f64, got: f64, rtol: f64) -> Result<(), Failure> {
    if expected == got || (got - expected).abs() <= rtol * expected.abs() {
        return Ok(());
    }
    Err(Failure::Broken(format!("{what}: expected {expected}, got {got}")))
}

fn sums() -> OpSpec {
    let mut cases: Vec<Case> = Vec::new();
    for n in BATCHES.into_iter().map(|n| n as usize).chain([PART - 1, PART + 3, 5 * PART + 77]) {
        cases.extend(on_elements(n as u64, typed!(format!("{n} gradients"), squares(n))));
    }
    cases.extend(on_elements(65_536, typed!("what is no number shows in its part", strange())));
    cases.push(Case::new("squares beyond the range of f32", |q| {
        for x in [3e38f32, 1e-40] {
            let (g, mut sums) = (q.upload(&[x; 100])?, q.zeros::<f64>(1)?);
            q.square_sums(SquareSums { g: g.view(), sums: sums.view_mut() })?;
            near("the sum", 100.0 * f64::from(x) * f64::from(x), q.download(&sums)?[0], 1e-14)?;
        }
        Ok(())
    }));
    OpSpec { op: "optim.square_sums", cases }
}

/// The same cases, on `elements` elements.
pub(super) fn on_elements(elements: u64, cases: [Case; 3]) -> [Case; 3] {
    cases.map(|case| case.on_elements(elements))
}

fn squares<T: Real>(q: &Conditioned, n: usize) -> Result<(), Failure> {
    let g: Vec<T> = InputSource::new(n as u64).reals(n);
    let (dg, mut sums) = (q.upload(&g)?, q.upload(&vec![-1.0f64; n.div_ceil(PART)])?);
    q.square_sums(SquareSums { g: dg.view(), sums: sums.view_mut() })?;
    let got = q.download(&sums)?;
    for (part, got) in g.chunks(PART).zip(got) {
        let expected: f64 = part.iter().map(|g| f64::from(g.to_f32()).powi(2)).sum();
        near("a sum", expected, got, 1e-12)?;
    }
    Ok(())
}

fn strange<T: Real>(q: &Conditioned) -> Result<(), Failure> {
    let mut g = vec![T::from_f32(1.0); 3 * PART];
    for (place, x) in [(PART + 1, f32::INFINITY), (2 * PART, f32::NAN)] {
        g[place] = T::from_f32(x);
    }
    let (g, mut sums) = (q.upload(&g)?, q.zeros::<f64>(3)?);
    q.square_sums(SquareSums { g: g.view(), sums: sums.view_mut() })?;
    let got = q.download(&sums)?;
    if got[0] != PART as f64 || got[1] != f64::INFINITY || !got[2].is_nan() {
        return Err(Failure::Broken(format!("the sums are {got:?}")));
    }
    Ok(())
}

const PARAMS: AdvanceParams = AdvanceParams {
    schedule: ScheduleParams {
        rate: 0.02,
        least: 0.002,
        factor: 0.5,
        warmup: 3,
        period: 6,
        anneal: Anneal::Cosine,
        reserved: 0,
    },
    beta1: 0.9,
    beta2: 0.999,
    decay: 0.1,
    clip: 2.5,
    growth: 2.0,
    backoff: 0.5,
    interval: 2,
    reserved: 0,
};

fn records() -> OpSpec {
    let mut cases: Vec<Case> = Vec::new();
    for (name, anneal) in [
        ("a constant rate", Anneal::Constant),
        ("a straight line", Anneal::Linear),
        ("a cosine", Anneal::Cosine),
        ("powers", Anneal::Steps),
    ] {
        cases.push(Case::new(name, move |q| rates(q, anneal)));
    }
    for count in [1, 31, 32, 33, 255, 256, 257, 1000] {
        cases.push(Case::new(format!("the norm of {count} sums"), move |q| norms(q, count)));
    }
    cases.push(Case::new("the loss scale's table of states", scales));
    cases.push(Case::new("without a norm nothing is left out", |q| {
        let mut state = q.upload(&[StepState { step: 4, sound: 1, skip: 1, norm: 3.0, ..StepState::new(8.0) }])?;
        q.advance_step(AdvanceStep { params: &PARAMS, sums: None, state: state.view_mut() })?;
        let got = q.download(&state)?[0];
        Failure::unless_equal(&[5, 0, 0, 0], &[got.step, got.skip.into(), got.sound.into(), got.skipped])?;
        Failure::unless_equal(&[0.0, 16.0], &[got.norm, got.loss_scale.into()])
    }));
    OpSpec { op: "optim.advance_step", cases }
}

/// The rate, the correction of both moments and the decay of 14 steps.
fn rates(q: &Conditioned, anneal: Anneal) -> Result<(), Failure> {
    let params = AdvanceParams { schedule: ScheduleParams { anneal, ..PARAMS.schedule }, interval: 0, ..PARAMS };
    let mut state = q.upload(&[StepState::new(1.0)])?;
    for t in 1..=14i32 {
        q.advance_step(AdvanceStep { params: &params, sums: None, state: state.view_mut() })?;
        let got = q.download(&state)?[0];
        let part = (f64::from(t - 3) / 6.0).min(1.0);
        let rate = match anneal {
            _ if t <= 3 => 0.02 * f64::from(t) / 3.0,
            Anneal::Constant => 0.02,
            Anneal::Linear => 0.02 - 0.018 * part,
            Anneal::Cosine => 0.002 + 0.018 * (1.0 + (core::f64::consts::PI * part).cos()) / 2.0,
            Anneal::Steps => 0.02 * 0.5f64.powi((t - 3) / 6),
        };
        near("the rate", rate, got.rate, 1e-13)?;
        near("the decay", 0.1 * rate, got.fade.into(), 1e-7)?;
        near("the size", rate / (1.0 - 0.9f64.powi(t)), got.size.into(), 1e-7)?;
        near("the root", (1.0 - 0.999f64.powi(t)).sqrt().recip(), got.root.into(), 1e-7)?;
        near("the factor of gradients", 1.0, got.gradient.into(), 0.0)?;
        Failure::unless_equal(&[t as u64, 0], &[got.step, got.skipped])?;
    }
    Ok(())
}

fn norms(q: &Conditioned, count: usize) -> Result<(), Failure> {
    let parts: Vec<f64> =
        InputSource::new(count as u64).reals::<f32>(count).into_iter().map(|x| f64::from(x.abs())).list();
    let (sums, mut state) = (q.upload(&parts)?, q.upload(&[StepState::new(4.0)])?);
    q.advance_step(AdvanceStep { params: &PARAMS, sums: Some(sums.view()), state: state.view_mut() })?;
    let (got, norm) = (q.download(&state)?[0], parts.iter().sum::<f64>().sqrt() / 4.0);
    near("the norm", norm, got.norm, 1e-13)?;
    near("the factor of gradients", (2.5 / (norm + 1e-6)).min(1.0) / 4.0, got.gradient.into(), 1e-7)
}

/// Checks the loss scale and its counters after finite and non-finite gradients.
///
/// The counters are the finite gradients in a row and the steps taken and left out.
fn scales(q: &Conditioned) -> Result<(), Failure> {
    let table: [(f64, f32, u32, u64, u64); 9] = [
        (1.0, 8.0, 1, 1, 0),
        (1.0, 16.0, 0, 2, 0),
        (f64::INFINITY, 8.0, 0, 2, 1),
        (f64::NAN, 4.0, 0, 2, 2),
        (0.0, 4.0, 1, 3, 2),
        (f64::INFINITY, 2.0, 0, 3, 3),
        (1.0, 2.0, 1, 4, 3),
        (1.0, 4.0, 0, 5, 3),
        (1.0, 4.0, 1, 6, 3),
    ];
    let mut state = q.upload(&[StepState::new(8.0)])?;
    for (sum, scale, sound, step, skipped) in table {
        let sums = q.upload(&[sum, 0.0])?;
        q.advance_step(AdvanceStep { params: &PARAMS, sums: Some(sums.view()), state: state.view_mut() })?;
        let got = q.download(&state)?[0];
        Failure::unless_equal(&[scale], &[got.loss_scale])?;
        let expected = [sound.into(), step, skipped, u64::from(!sum.is_finite())];
        Failure::unless_equal(&expected, &[got.sound.into(), got.step, got.skipped, got.skip.into()])?;
    }
    Ok(())
}

fn losses() -> OpSpec {
    let mut cases: Vec<Case> = Vec::new();
    for n in BATCHES.map(|n| n as usize) {
        cases.extend(typed!(format!("{n} elements"), scaled(n)));
    }
    OpSpec { op: "optim.scale_loss", cases }
}

fn scaled<T: Real>(q: &Conditioned, n: usize) -> Result<(), Failure> {
    let x: Vec<f32> = InputSource::new(5).reals(n);
    let state = StepState { gradient: 3.0, ..StepState::new(1024.0) };
    let (dx, state, mut y) = (q.upload(&x)?, q.upload(&[state])?, q.zeros::<T>(n)?);
    q.scale_loss(ScaleLoss { state: state.view(), x: dx.view(), y: y.view_mut() })?;
    let expected: Vec<T> = x.into_iter().map(|x| T::from_f32(1024.0 * x)).list();
    Failure::unless_equal(&expected, &q.download(&y)?)
}
