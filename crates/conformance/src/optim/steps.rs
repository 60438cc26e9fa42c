//! Single optimizer steps: omitted operands, copies, views, gradient types, rejections.

use backend_api::{
    Buffer as _, DType, Queue, Real,
    ops::optim::{AdamStep, OptimOps, SgdStep},
};
use core_types::params::optim::{AdamParams, SgdParams, StepState};
use half::{bf16, f16};
use nn_ops::{Rule, WeightDecay};

use super::{model::WeightState, record::on_elements, typed};
use crate::{Case, Conditioned, Failure, OpSpec, linalg::model::InputSource, list::ListIterator as _};

/// Lengths around vectors, warps, blocks and the parallel grain.
const LENGTHS: [usize; 9] = [0, 1, 31, 32, 33, 255, 257, 1028, 70_001];

/// Cases of a step of any length, of views, and of gradients in f32 with a copy in 16 bits.
macro_rules! step_cases {
    ($check:ident) => {{
        let mut cases: Vec<Case> = Vec::new();
        for n in LENGTHS {
            let of_length = typed!(format!("{n} weights"), $check(n, 0, GradientType::OfType));
            cases.extend(on_elements(n as u64, of_length));
        }
        cases.extend(typed!("from the second element on".to_owned(), $check(700, 1, GradientType::OfType)));
        for (n, skip) in [(33, 0), (700, 1), (1028, 0)] {
            let name = format!("{n} weights from {skip} on, gradients in f32 and a copy in 16 bits");
            cases.push(Case::new(name, move |q| {
                $check::<f16>(q, n, skip, GradientType::Wide)?;
                $check::<bf16>(q, n, skip, GradientType::Wide)
            }));
        }
        cases
    }};
}

pub(super) fn specs() -> Vec<OpSpec> {
    let (mut sgd, mut adam) = (step_cases!(descends), step_cases!(adapts));
    sgd.push(Case::new("momentum without running sums is refused", |q| {
        let (g, mut w, state) = (q.zeros::<f32>(1)?, q.zeros::<f32>(1)?, q.upload(&[state()])?);
        let (state, g, wide, w) = (state.view(), Some(g.view()), None, w.view_mut());
        let step = SgdStep::<_, f32> { params: &SGD, state, g, wide, v: None, w, copy: None };
        Failure::unless_refused("no running sums", q.sgd_step(step))
    }));
    adam.push(Case::new("gradients of two types or of none, and a copy in f32, are refused", refusals));
    vec![OpSpec { op: "optim.sgd_step", cases: sgd }, OpSpec { op: "optim.adam_step", cases: adam }]
}

/// Whether gradients are of the copy's type.
#[derive(Clone, Copy, PartialEq)]
enum GradientType {
    OfType,
    Wide,
}

const SGD: SgdParams = SgdParams { decayed: 500, momentum: 0.75, coupled: 0.5, nesterov: 1, reserved: 0 };
const ADAM: AdamParams = AdamParams { decayed: 500, rest1: 0.125, rest2: 0.0625, eps: 0.001, coupled: 0.0 };

/// The third step at a rate of 1/8, with decoupled decay of 1/2.
///
/// Its gradients are multiplied by a sixteenth.
fn state() -> StepState {
    StepState {
        gradient: 1.0 / 16.0,
        fade: 1.0 / 16.0,
        size: 0.125 / (1.0 - 0.875f32.powi(3)),
        root: 1.0 / (1.0f32 - 0.9375f32.powi(3)).sqrt(),
        ..StepState::new(1.0)
    }
}

/// Data of a step: gradients, and three numbers for each gradient.
struct Data<T> {
    g: Vec<T>,
    beside: [Vec<f32>; 3],
}

impl<T: Real> Data<T> {
    fn new(n: usize) -> Self {
        let mut random = InputSource::new(n as u64);
        let g = random.reals::<f32>(n).into_iter().map(|g| T::from_f32(16.0 * g)).list();
        let beside = [(); 3].map(|()| random.reals(n));
        Self { g, beside }
    }

    fn wide(&self) -> Vec<f32> {
        self.g.iter().map(|g| g.to_f32()).list()
    }
}

/// Checks that elements before `skip` are unchanged.
///
/// The copy is rounded from the weights.
fn unless_copied<T: Real>(skip: usize, start: &[f32], w: &[f32], copy: Option<Vec<T>>) -> Result<(), Failure> {
    Failure::unless_equal(&start[..skip], &w[..skip])?;
    let Some(copy) = copy else { return Ok(()) };
    let rounded: Vec<T> = w[skip..].iter().map(|&w| T::from_f32(w)).list();
    Failure::unless_equal(&rounded, &copy[skip..])
}

/// Checks that every element of the copy is still the nine that it began with.
fn unless_kept<T: Real>(copy: Option<Vec<T>>) -> Result<(), Failure> {
    let copy = copy.unwrap_or_default();
    Failure::unless_equal(&vec![T::from_f32(9.0); copy.len()], &copy)
}

fn descends<T: Real>(q: &Conditioned, n: usize, skip: usize, gradients: GradientType) -> Result<(), Failure> {
    let data = Data::<T>::new(n + skip);
    let [start_v, start_w, _] = &data.beside;
    let (g, wide) = (q.upload(&data.g)?, q.upload(&data.wide())?);
    let part = skip..n + skip;
    for (momentum, leaves) in [(true, false), (false, false), (true, true)] {
        let params = if momentum { SGD } else { SgdParams { momentum: 0.0, nesterov: 0, ..SGD } };
        let state = q.upload(&[StepState { skip: leaves.into(), ..state() }])?;
        let (mut v, mut w) = (q.upload(start_v)?, q.upload(start_w)?);
        let mut copy = (T::DTYPE != DType::F32).then(|| q.upload(&vec![T::from_f32(9.0); n + skip])).transpose()?;
        q.sgd_step(SgdStep {
            params: &params,
            state: state.view(),
            g: (gradients == GradientType::OfType).then(|| g.slice(part.clone())).transpose()?,
            wide: (gradients == GradientType::Wide).then(|| wide.slice(part.clone())).transpose()?,
            v: momentum.then(|| v.slice_mut(part.clone())).transpose()?,
            w: w.slice_mut(part.clone())?,
            copy: copy.as_mut().map(|copy| copy.slice_mut(part.clone())).transpose()?,
        })?;
        let (v, w, copy) = (q.download(&v)?, q.download(&w)?, copy.map(|copy| q.download(&copy)).transpose()?);
        if leaves {
            Failure::unless_equal(start_v, &v)?;
            Failure::unless_equal(start_w, &w)?;
            unless_kept(copy)?;
            continue;
        }
        let mut model: Vec<WeightState> = Vec::new();
        for i in 0..n {
            let mut weight = WeightState::new(start_w[skip + i], i < 500);
            weight.v = start_v[skip + i].into();
            let rule = Rule::Sgd { momentum: params.momentum.into(), nesterov: momentum };
            let g = f64::from(data.g[skip + i].to_f32()) / 16.0;
            // both forms of decay at once: the decoupled part is of the weight from before
            let faded = if weight.decays { weight.w / 16.0 } else { 0.0 };
            weight.step(rule, WeightDecay::Coupled(0.5), 0.125 / (1.0 - 0.875f64.powi(3)), 3, g);
            weight.w -= faded;
            model.push(weight);
        }
        let expected: Vec<f64> = model.iter().map(|weight| weight.w).list();
        Failure::unless_close(&expected, &w[skip..], 1e-6, 3e-7)?;
        if momentum {
            let expected: Vec<f64> = model.iter().map(|weight| weight.v).list();
            Failure::unless_close(&expected, &v[skip..], 1e-6, 3e-7)?;
        }
        unless_copied(skip, start_w, &w, copy)?;
    }
    Ok(())
}

fn adapts<T: Real>(q: &Conditioned, n: usize, skip: usize, gradients: GradientType) -> Result<(), Failure> {
    let mut data = Data::<T>::new(n + skip);
    data.beside[1].iter_mut().for_each(|v| *v = v.abs());
    let [start_m, start_v, start_w] = &data.beside;
    let (g, wide) = (q.upload(&data.g)?, q.upload(&data.wide())?);
    let part = skip..n + skip;
    for leaves in [false, true] {
        let state = q.upload(&[StepState { skip: leaves.into(), ..state() }])?;
        let (mut m, mut v, mut w) = (q.upload(start_m)?, q.upload(start_v)?, q.upload(start_w)?);
        let mut copy = (T::DTYPE != DType::F32).then(|| q.upload(&vec![T::from_f32(9.0); n + skip])).transpose()?;
        q.adam_step(AdamStep {
            params: &ADAM,
            state: state.view(),
            g: (gradients == GradientType::OfType).then(|| g.slice(part.clone())).transpose()?,
            wide: (gradients == GradientType::Wide).then(|| wide.slice(part.clone())).transpose()?,
            m: m.slice_mut(part.clone())?,
            v: v.slice_mut(part.clone())?,
            w: w.slice_mut(part.clone())?,
            copy: copy.as_mut().map(|copy| copy.slice_mut(part.clone())).transpose()?,
        })?;
        let (m, v, w) = (q.download(&m)?, q.download(&v)?, q.download(&w)?);
        let copy = copy.map(|copy| q.download(&copy)).transpose()?;
        if leaves {
            for (start, got) in [(start_m, &m), (start_v, &v), (start_w, &w)] {
                Failure::unless_equal(start, got)?;
            }
            unless_kept(copy)?;
            continue;
        }
        let mut model: Vec<WeightState> = Vec::new();
        for i in skip..n + skip {
            let mut weight = WeightState::new(start_w[i], i - skip < 500);
            (weight.m, weight.v) = (start_m[i].into(), start_v[i].into());
            let rule = Rule::Adam { beta1: 0.875, beta2: 0.9375, eps: 0.001 };
            weight.step(rule, WeightDecay::Decoupled(0.5), 0.125, 3, f64::from(data.g[i].to_f32()) / 16.0);
            model.push(weight);
        }
        let each = |number: fn(&WeightState) -> f64| model.iter().map(number).list();
        Failure::unless_close(&each(|weight| weight.m), &m[skip..], 1e-6, 3e-7)?;
        Failure::unless_close(&each(|weight| weight.v), &v[skip..], 1e-6, 3e-7)?;
        Failure::unless_close(&each(|weight| weight.w), &w[skip..], 2e-6, 1e-6)?;
        unless_copied(skip, start_w, &w, copy)?;
    }
    Ok(())
}

fn refusals(q: &Conditioned) -> Result<(), Failure> {
    /// Which gradients of f16 and of f32 there are.
    fn refused(q: &Conditioned, of_type: bool, wide: bool) -> Result<(), Failure> {
        let (half, single, state) = (q.zeros::<f16>(2)?, q.zeros::<f32>(2)?, q.upload(&[state()])?);
        let (mut m, mut v, mut w) = (q.zeros::<f32>(2)?, q.zeros::<f32>(2)?, q.zeros::<f32>(2)?);
        let (g, wide) = (of_type.then(|| half.view()), wide.then(|| single.view()));
        let (m, v, w) = (m.view_mut(), v.view_mut(), w.view_mut());
        let step = AdamStep { params: &ADAM, state: state.view(), g, wide, m, v, w, copy: None };
        Failure::unless_refused("gradients of two types or of none", q.adam_step(step))
    }
    refused(q, false, false)?;
    refused(q, true, true)?;
    let (g, mut copy, state) = (q.zeros::<f32>(2)?, q.zeros::<f32>(2)?, q.upload(&[state()])?);
    let (mut m, mut v, mut w) = (q.zeros::<f32>(2)?, q.zeros::<f32>(2)?, q.zeros::<f32>(2)?);
    let (g, m, v, w) = (Some(g.view()), m.view_mut(), v.view_mut(), w.view_mut());
    let copy = Some(copy.view_mut());
    let step = AdamStep { params: &ADAM, state: state.view(), g, wide: None, m, v, w, copy };
    Failure::unless_refused("a copy in f32", q.adam_step(step))
}
