//! Corrections against their definition, and the form in place against the other.

use backend_api::{
    BackendError, Buffer, Queue,
    ops::correction::{ApplyCorrection, CorrectionOps},
};
use core_types::params::correction::CorrectionParams;

use crate::{Case, Conditioned, Failure, OpSpec, linalg::model::InputSource, list::ListIterator as _, spec::BATCHES};

const LENGTHS: [usize; 8] = [2, 3, 4, 5, 64, 1023, 1031, 70_000];

pub(super) fn specs() -> Vec<OpSpec> {
    let (mut cases, mut in_place) = (Vec::new(), Vec::new());
    for n in BATCHES.map(|n| n as usize).into_iter().chain(LENGTHS) {
        let name = format!("{n} elements");
        cases.push(Case::new(name.clone(), move |q| held(q, n)).on_elements(4 * n as u64));
        in_place.push(Case::new(name, move |q| same(q, n)).on_elements(4 * n as u64));
    }
    cases.push(Case::new("what is not a number, and ends of the range", specials));
    cases.push(Case::new("refusals", |q| {
        let plain = CorrectionParams::default();
        for (what, params) in [
            ("a factor of residuals that is not a number", CorrectionParams { history: f32::NAN, ..plain }),
            ("a factor of the model that is not a number", CorrectionParams { model: f32::NAN, ..plain }),
            ("a limit that is not a number", CorrectionParams { limit: f32::NAN, ..plain }),
            ("a limit below 0", CorrectionParams { limit: -0.2, ..plain }),
        ] {
            Failure::unless_refused(what, applied(q, &params, [&[1.0], &[1.0], &[1.0]]).map(drop))?;
        }
        Ok(())
    }));
    vec![
        OpSpec { op: "correction.apply_correction", cases },
        OpSpec { op: "correction.apply_correction_in_place", cases: in_place },
    ]
}

/// Predictions, and two corrections, some within the limit and some beyond it.
fn inputs(n: usize) -> [Vec<f32>; 3] {
    let mut random = InputSource::new(n as u64);
    let predictions = random.reals::<f32>(n);
    let [a, b] = [0, 1].map(|_| random.reals::<f32>(n).iter().zip(&predictions).map(|(x, p)| x * p * 0.5).list());
    [predictions, a, b]
}

fn model(p: &CorrectionParams, [x, a, b]: [f64; 3]) -> f64 {
    let limit = f64::from(p.limit) * x.abs();
    let c = f64::from(p.history) * a + f64::from(p.model) * b;
    x + if c.is_nan() { c } else { c.max(-limit).min(limit) }
}

fn applied(q: &Conditioned, p: &CorrectionParams, inputs: [&[f32]; 3]) -> Result<Vec<f32>, BackendError> {
    let [predictions, a, b] = inputs.map(|x| q.upload(x));
    let (predictions, a, b) = (predictions?, a?, b?);
    let mut y = q.alloc::<f32>(inputs[0].len())?;
    q.apply_correction(ApplyCorrection {
        params: p,
        predictions: Some(predictions.view()),
        a: a.view(),
        b: b.view(),
        y: y.view_mut(),
    })?;
    q.download(&y)
}

fn held(q: &Conditioned, n: usize) -> Result<(), Failure> {
    let [x, a, b] = inputs(n);
    for p in [CorrectionParams::default(), CorrectionParams { history: -0.5, model: 1.25, limit: 0.05 }] {
        let expected: Vec<f64> = (0..n).map(|i| model(&p, [x[i], a[i], b[i]].map(f64::from))).list();
        Failure::unless_close(&expected, &applied(q, &p, [&x, &a, &b])?, 3e-7, 0.0)?;
    }
    Ok(())
}

/// Each combination of ends.
fn specials(q: &Conditioned) -> Result<(), Failure> {
    let ends = [0.0, 1.0, -2.5, 1e-40, f32::MAX / 4.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
    let p = CorrectionParams::default();
    let all: Vec<[f32; 3]> = ends.iter().flat_map(|&x| ends.iter().flat_map(move |&a| ends.map(|b| [x, a, b]))).list();
    let part = |i: usize| all.iter().map(|values| values[i]).list();
    let expected: Vec<f64> = all.iter().map(|values| model(&p, values.map(f64::from))).list();
    Failure::unless_close(&expected, &applied(q, &p, [&part(0), &part(1), &part(2)])?, 3e-7, 1e-44)
}

fn same(q: &Conditioned, n: usize) -> Result<(), Failure> {
    let ([x, a, b], p) = (inputs(n), CorrectionParams::default());
    let expected = applied(q, &p, [&x, &a, &b])?;
    let (mut x, a, b) = (q.upload(&x)?, q.upload(&a)?, q.upload(&b)?);
    q.apply_correction(ApplyCorrection { params: &p, predictions: None, a: a.view(), b: b.view(), y: x.view_mut() })?;
    Failure::unless_equal(&expected, &q.download(&x)?)
}
