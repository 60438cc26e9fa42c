//! The formulas in f64, row by row.

use crate::{linalg::model::central_differences, list::ListIterator as _};

/// Softmax of one row; elements of -inf give 0.
pub(super) fn softmax(x: &[f64]) -> Vec<f64> {
    let greatest = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let e: Vec<f64> = x.iter().map(|x| (x - greatest).exp()).list();
    let sum: f64 = e.iter().sum();
    e.iter().map(|e| e / sum).list()
}

/// Log-softmax of one row.
///
/// The greatest element is counted separately, so that a sum near 1 loses nothing.
pub(super) fn log_softmax(x: &[f64]) -> Vec<f64> {
    let (at, greatest) =
        x.iter().copied().enumerate().fold((0, f64::NEG_INFINITY), |best, x| if x.1 > best.1 { x } else { best });
    let rest: f64 = x.iter().enumerate().filter(|&(i, _)| i != at).map(|(_, x)| (x - greatest).exp()).sum();
    x.iter().map(|x| x - greatest - rest.ln_1p()).list()
}

/// Layer norm of one row.
pub(super) fn layer_norm(x: &[f64], gamma: &[f64], beta: &[f64], eps: f64) -> Vec<f64> {
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
    let rstd = 1.0 / (variance + eps).sqrt();
    x.iter().zip(gamma.iter().zip(beta)).map(|(x, (gamma, beta))| (x - mean) * rstd * gamma + beta).list()
}

/// RMS norm of one row.
pub(super) fn rms_norm(x: &[f64], gamma: &[f64], eps: f64) -> Vec<f64> {
    let rstd = 1.0 / (x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64 + eps).sqrt();
    x.iter().zip(gamma).map(|(x, gamma)| x * rstd * gamma).list()
}

/// The gradient of `sum_i g_i f(x)_i` with respect to x, by central differences of f.
pub(super) fn gradient(x: &[f64], g: &[f64], f: &dyn Fn(&[f64]) -> Vec<f64>) -> Vec<f64> {
    central_differences(x, 1e-5, &|x| f(x).iter().zip(g).map(|(y, g)| y * g).sum())
}

/// `f` over the middle axis of a row-major `outer x len x inner` tensor.
pub(super) fn along(x: &[f64], len: usize, inner: usize, f: &mut dyn FnMut(&[f64]) -> Vec<f64>) -> Vec<f64> {
    let mut y = vec![0.0; x.len()];
    for (x, y) in x.chunks(len * inner).zip(y.chunks_mut(len * inner)) {
        for i in 0..inner {
            let row: Vec<f64> = x.iter().skip(i).step_by(inner).copied().list();
            y.iter_mut().skip(i).step_by(inner).zip(f(&row)).for_each(|(y, value)| *y = value);
        }
    }
    y
}
