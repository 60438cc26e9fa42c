//! Gradients compared with central differences of f64 models.
//!
//! They are checked here if the op's specification has another oracle: cross-entropies, the columns
//! of norms, and dense layers with an activation.

use nn_ops::{
    Activation, CrossEntropyResults, LinearGradients, LinearOperands, LinearSaved, NormAffine, NormGradients, NormPlan,
    NormResults, NormSaved, Tensor, cross_entropy, cross_entropy_probs, linear, linear_backward,
};

use super::model::{InputSource, activation, central_differences};
use crate::{Case, Conditioned, Failure, OpSpec, list::ListIterator as _};

/// Half of the distance of the points that are compared.
const STEP: f64 = 1e-4;

/// Relative and absolute error of a gradient: from f32 rounding, and from the differences.
const BOUNDS: (f64, f64) = (1e-5, 1e-5);

pub(super) fn specs() -> Vec<OpSpec> {
    let mut cases = vec![
        Case::new("cross-entropy by classes, of which one is not there", |q| entropies(q, true)),
        Case::new("cross-entropy by probabilities", |q| entropies(q, false)),
        Case::new("layer norm, input and columns", |q| norms(q, true)),
        Case::new("RMS norm, input and columns", |q| norms(q, false)),
    ];
    for f in Activation::ALL {
        cases.push(Case::new(format!("dense layer with {}", f.name()), move |q| layers(q, f)));
    }
    vec![OpSpec { op: "linalg gradients by central differences", cases }]
}

/// The slopes of `loss` along every element of each of `at`.
fn slopes<const N: usize>(at: [Vec<f32>; N], loss: impl Fn(&[Vec<f64>; N]) -> f64) -> [Vec<f64>; N] {
    let start = at.map(|values| values.iter().map(|&value| f64::from(value)).list());
    core::array::from_fn(|tensor| {
        central_differences(&start[tensor], STEP, &|moved| {
            let mut at = start.clone();
            at[tensor] = moved.to_vec();
            loss(&at)
        })
    })
}

fn near(what: &str, expected: &[f64], got: &[f32]) -> Result<(), Failure> {
    let (rtol, atol) = BOUNDS;
    Failure::unless_close(expected, got, rtol, atol).map_err(|failure| failure.of(what))
}

fn entropies(q: &Conditioned, by_class: bool) -> Result<(), Failure> {
    const ROWS: usize = 5;
    const CLASSES: usize = 7;
    let mut random = InputSource::new(31);
    let x: Vec<f32> = random.reals::<f32>(ROWS * CLASSES).into_iter().map(|x| 4.0 * x).list();
    let classes = [6, 0, CLASSES as u32, 3, 3];
    let probs: Vec<f32> = random.reals::<f32>(ROWS * CLASSES).into_iter().map(f32::abs).list();
    let scale = 0.25;
    let model = |[x]: &[Vec<f64>; 1]| {
        let of_row = |row: usize| {
            let x = &x[row * CLASSES..][..CLASSES];
            let log_sum = x.iter().map(|x| x.exp()).sum::<f64>().ln();
            let weight = |class: usize| match by_class {
                true => f64::from(u8::from(classes[row] as usize == class)),
                false => f64::from(probs[row * CLASSES + class]),
            };
            (0..CLASSES).map(|class| weight(class) * (log_sum - x[class])).sum::<f64>()
        };
        scale * (0..ROWS).map(of_row).sum::<f64>()
    };
    let [expected] = slopes([x.clone()], model);
    let of = |values: &[f32]| Tensor::<Conditioned, f32>::from_values(q, &[ROWS, CLASSES], values);
    let (logits, weights, mut gradient) = (of(&x)?, of(&probs)?, of(&x)?);
    let targets = Tensor::from_values(q, &[ROWS], &classes)?;
    let mut losses = Tensor::alloc(q, &[ROWS])?;
    let scale = scale as f32;
    let results = CrossEntropyResults { losses: losses.at_mut(), dlogits: gradient.at_mut() };
    if by_class {
        cross_entropy(q, scale, logits.at(), targets.at(), results)?;
    } else {
        cross_entropy_probs(q, scale, logits.at(), weights.at(), results)?;
    }
    near("logits", &expected, &gradient.values(q)?)
}

fn norms(q: &Conditioned, centred: bool) -> Result<(), Failure> {
    const ROWS: usize = 3;
    const COLUMNS: usize = 11;
    const EPS: f32 = 1e-3;
    let mut random = InputSource::new(32);
    let [x, g] = [(); 2].map(|()| random.reals::<f32>(ROWS * COLUMNS));
    let [gamma, beta] = [(); 2].map(|()| random.reals::<f32>(COLUMNS));
    let model = |[x, gamma, beta]: &[Vec<f64>; 3]| {
        let of_row = |row: usize| {
            let x = &x[row * COLUMNS..][..COLUMNS];
            let mean = if centred { x.iter().sum::<f64>() / COLUMNS as f64 } else { 0.0 };
            let square = x.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / COLUMNS as f64;
            let scale = 1.0 / (square + f64::from(EPS)).sqrt();
            let y = |column: usize| (x[column] - mean) * scale * gamma[column] + beta[column];
            (0..COLUMNS).map(|column| f64::from(g[row * COLUMNS + column]) * y(column)).sum::<f64>()
        };
        (0..ROWS).map(of_row).sum::<f64>()
    };
    let expected = slopes([x.clone(), gamma.clone(), beta.clone()], model);
    let of = |values: &[f32]| Tensor::<Conditioned, f32>::from_values(q, &[ROWS, COLUMNS], values);
    let column = |values: &[f32]| Tensor::<Conditioned, f32>::from_values(q, &[COLUMNS], values);
    let (dx_in, upstream, of_gamma, of_beta) = (of(&x)?, of(&g)?, column(&gamma)?, column(&beta)?);
    let (mut y, mut dx, mut dgamma, mut dbeta) = (of(&x)?, of(&x)?, column(&gamma)?, column(&beta)?);
    let plan = NormPlan::new(&[ROWS, COLUMNS], EPS)?;
    if centred {
        let mut stats = Tensor::alloc(q, &[2, ROWS])?;
        let affine = NormAffine { gamma: Some(of_gamma.at()), beta: Some(of_beta.at()) };
        plan.layer_norm(q, dx_in.at(), affine, NormResults { y: y.at_mut(), stats: stats.at_mut() })?;
        let saved = NormSaved { x: dx_in.at(), gamma: Some(of_gamma.at()), stats: stats.at() };
        let gradients = NormGradients { x: dx.at_mut(), gamma: Some(dgamma.at_mut()), beta: Some(dbeta.at_mut()) };
        plan.layer_norm_backward(q, saved, upstream.at(), gradients)?;
        near("beta", &expected[2], &dbeta.values(q)?)?;
    } else {
        let mut stats = Tensor::alloc(q, &[ROWS])?;
        let results = NormResults { y: y.at_mut(), stats: stats.at_mut() };
        plan.rms_norm(q, dx_in.at(), Some(of_gamma.at()), results)?;
        let saved = NormSaved { x: dx_in.at(), gamma: Some(of_gamma.at()), stats: stats.at() };
        plan.rms_norm_backward(q, saved, upstream.at(), dx.at_mut(), Some(dgamma.at_mut()))?;
    }
    near("x", &expected[0], &dx.values(q)?)?;
    near("gamma", &expected[1], &dgamma.values(q)?)
}

fn layers(q: &Conditioned, f: Activation) -> Result<(), Failure> {
    const M: usize = 4;
    const K: usize = 5;
    const N: usize = 3;
    let mut random = InputSource::new(33);
    let [x, w, bias, g] = [M * K, K * N, N, M * N].map(|count| random.reals::<f32>(count));
    let model = |[x, w, bias]: &[Vec<f64>; 3]| {
        let of = |row: usize, column: usize| {
            let sum: f64 = (0..K).map(|k| x[row * K + k] * w[k * N + column]).sum();
            f64::from(g[row * N + column]) * activation(f, sum + bias[column])
        };
        (0..M).flat_map(|row| (0..N).map(move |column| (row, column))).map(|(row, column)| of(row, column)).sum::<f64>()
    };
    let expected = slopes([x.clone(), w.clone(), bias.clone()], model);
    let of = |shape: &[usize], values: &[f32]| Tensor::<Conditioned, f32>::from_values(q, shape, values);
    let (dx, dw, db) = (of(&[M, K], &x)?, of(&[K, N], &w)?, of(&[N], &bias)?);
    let (upstream, mut p, mut y) = (of(&[M, N], &g)?, Tensor::alloc(q, &[M, N])?, Tensor::alloc(q, &[M, N])?);
    let operands = || LinearOperands { x: dx.at(), w: dw.at(), bias: Some(db.at()) };
    linear(q, operands(), Activation::Identity, p.at_mut())?;
    linear(q, operands(), f, y.at_mut())?;
    // gradients are accumulated, so they start from zero
    let zeros = |shape: &[usize]| of(shape, &vec![0.0; shape.iter().product()]);
    let (mut of_x, mut of_w, mut of_bias) = (zeros(&[M, K])?, zeros(&[K, N])?, zeros(&[N])?);
    let gradients = LinearGradients { x: Some(of_x.at_mut()), w: of_w.at_mut(), bias: Some(of_bias.at_mut()) };
    let saved = if f.saves_output() { y.at() } else { p.at() };
    linear_backward(q, LinearSaved { x: dx.at(), w: dw.at(), f, saved }, upstream.at(), gradients)?;
    near("x", &expected[0], &of_x.values(q)?)?;
    near("w", &expected[1], &of_w.values(q)?)?;
    near("bias", &expected[2], &of_bias.values(q)?)
}
