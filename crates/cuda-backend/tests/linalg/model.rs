//! The formulas in f64.

use core_types::params::elementwise::Activation;

pub(crate) fn activation(f: Activation, x: f64) -> f64 {
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    match f {
        Activation::Identity => x,
        Activation::Relu => x.max(0.0),
        Activation::Sigmoid => sigmoid(x),
        Activation::Tanh => x.tanh(),
        Activation::GeluTanh => {
            0.5 * x * (1.0 + ((2.0 / core::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh())
        }
        Activation::GeluErf => x * normal_cdf(x),
        Activation::Silu => x * sigmoid(x),
    }
}

/// The normal distribution function: the series of the integral near 0, the continued fraction of the tail beyond.
fn normal_cdf(x: f64) -> f64 {
    let density = (-0.5 * x * x).exp() / (2.0 * core::f64::consts::PI).sqrt();
    if x.abs() < 3.0 {
        let (mut term, mut sum) = (x, x);
        for i in 1..100 {
            term *= x * x / f64::from(2 * i + 1);
            sum += term;
        }
        return 0.5 + density * sum;
    }
    let z = x.abs();
    let tail = density / (1..200).rev().fold(z, |f, i| z + f64::from(i) / f);
    if x > 0.0 { 1.0 - tail } else { tail }
}

/// Softmax or its logarithm over one row, where `None` is left out.
pub(crate) fn softmax(log: bool, row: &[Option<f64>]) -> Vec<f64> {
    let excluded = if log { f64::NEG_INFINITY } else { 0.0 };
    if row.iter().all(Option::is_none) {
        return vec![excluded; row.len()];
    }
    let greatest = row.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
    let top = row.iter().position(|&x| x == Some(greatest)).unwrap_or(0);
    let others = row.iter().enumerate().filter(|&(i, _)| i != top);
    let rest: f64 = others.filter_map(|(_, x)| *x).map(|x| (x - greatest).exp()).sum();
    row.iter()
        .map(|x| match x {
            None => excluded,
            Some(x) if log => x - greatest - rest.ln_1p(),
            Some(x) => (x - greatest).exp() / (1.0 + rest),
        })
        .collect()
}

/// Calls `row(values)` for the rows along the middle axis of `outer x len x inner` tensors and
/// writes its results.
pub(crate) fn along<X: Copy>(
    x: &[X],
    [outer, len, inner]: [usize; 3],
    mut row: impl FnMut(usize, usize, &[X]) -> Vec<f64>,
) -> Vec<f64> {
    let mut y = vec![0.0; x.len()];
    for o in 0..outer {
        for i in 0..inner {
            let at = |c: usize| (o * len + c) * inner + i;
            let values: Vec<X> = (0..len).map(|c| x[at(c)]).collect();
            row(o, i, &values).into_iter().enumerate().for_each(|(c, value)| y[at(c)] = value);
        }
    }
    y
}
