//! Softmax, log-softmax and layer norm.

use nn_dispatch::{Affine, BackendDispatcher, LayerNormGradients, SoftmaxMask, TensorOpsAPI};

use crate::common::{CLOSE, close, each, slopes, values, wide};

/// Softmax or its logarithm of `x + addend` along an axis, in f64.
fn softmax(is_log: bool, x: &[f64], shape: &[usize], dim: usize, addend: &[f64]) -> Vec<f64> {
    let (len, inner) = (shape[dim], shape[dim + 1..].iter().product::<usize>());
    let sums: Vec<f64> = x.iter().zip(addend).map(|(x, addend)| x + addend).collect();
    let term = |at: usize| {
        let first = at / (len * inner) * len * inner + at % inner;
        let row: Vec<f64> = (0..len).map(|c| sums[first + c * inner]).collect();
        let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = row.iter().map(|x| (x - most).exp()).sum();
        if is_log { sums[at] - most - total.ln() } else { (sums[at] - most).exp() / total }
    };
    (0..x.len()).map(term).collect()
}

/// A softmax or its logarithm, forward and backward, against f64.
fn check(d: &BackendDispatcher, shape: &[usize], dim: usize, mask: SoftmaxMask<'_>, addend: &[f64]) {
    let count = shape.iter().product();
    let (x, g) = (values(5, count), values(6, count));
    for is_log in [false, true] {
        let (mut y, mut dx) = (vec![f32::NAN; count], vec![f32::NAN; count]);
        if is_log {
            let saved = d.log_softmax((&x).into(), shape, dim, mask, &mut y).unwrap();
            d.log_softmax_backward(&saved, (&y).into(), (&g).into(), &mut dx).unwrap();
        } else {
            let saved = d.softmax((&x).into(), shape, dim, mask, &mut y).unwrap();
            d.softmax_backward(&saved, (&y).into(), (&g).into(), &mut dx).unwrap();
        }
        let name = format!("{shape:?}, axis {dim}, logarithm {is_log}");
        close(&name, &y, &softmax(is_log, &wide(&x), shape, dim, addend), CLOSE);
        let gradient = slopes(|x| softmax(is_log, x, shape, dim, addend), &wide(&x), &g);
        close(&format!("gradient of {name}"), &dx, &gradient, CLOSE);
    }
}

#[test]
fn softmaxes_and_their_gradients_match_f64_along_both_axes() {
    each(|d| {
        for shape in [[1, 1], [1, 6], [6, 1], [4, 8], [5, 7], [3, 33]] {
            for dim in [0, 1] {
                check(d, &shape, dim, SoftmaxMask::None, &[0.0].repeat(shape[0] * shape[1]));
            }
        }
    });
}

#[test]
fn masks_leave_elements_out_and_repeat_over_a_batch() {
    each(|d| {
        let shape = [2, 3, 5];
        // The first key of each query is kept, so that no row is empty.
        let mask: Vec<f32> = values(7, 15)
            .iter()
            .enumerate()
            .map(|(i, &v)| if i % 5 > 0 && v < -0.3 { f32::NEG_INFINITY } else { v })
            .collect();
        assert!(mask.iter().any(|m| m.is_infinite()));
        check(d, &shape, 2, SoftmaxMask::Additive((&mask).into()), &wide(&mask).repeat(2));
        let whole = [mask.clone(), values(8, 15)].concat();
        check(d, &shape, 2, SoftmaxMask::Additive((&whole).into()), &wide(&whole));

        for offset in [0, 1] {
            let above = |at: usize| (at % 5) as i64 > (at / 5 % 3) as i64 + offset;
            let addend: Vec<f64> = (0..30).map(|at| if above(at) { f64::NEG_INFINITY } else { 0.0 }).collect();
            check(d, &shape, 2, SoftmaxMask::Causal { offset }, &addend);
        }
    });
}

#[test]
fn rows_without_an_element_have_no_share_and_no_gradient() {
    const NONE: f32 = f32::NEG_INFINITY;
    each(|d| {
        let (x, g, mask) = (values(5, 6), values(6, 6), [NONE, NONE, NONE, 0.0, NONE, 0.0]);
        let masks = [SoftmaxMask::Additive((&mask).into()), SoftmaxMask::Causal { offset: -1 }];
        let (mut y, mut dx) = ([f32::NAN; 6], [f32::NAN; 6]);
        for mask in masks {
            let saved = d.softmax((&x).into(), &[2, 3], 1, mask, &mut y).unwrap();
            d.softmax_backward(&saved, (&y).into(), (&g).into(), &mut dx).unwrap();
            assert_eq!((&y[..3], &dx[..3]), (&[0.0; 3][..], &[0.0; 3][..]));
            assert!((y[3..].iter().sum::<f32>() - 1.0).abs() < 1e-6);
            let saved = d.log_softmax((&x).into(), &[2, 3], 1, mask, &mut y).unwrap();
            d.log_softmax_backward(&saved, (&y).into(), (&g).into(), &mut dx).unwrap();
            assert_eq!((&y[..3], &dx[..3]), (&[NONE; 3][..], &[0.0; 3][..]));
            assert_eq!((y[4], dx[4]), (NONE, 0.0));
        }
    });
}

/// `(x - mean) / sqrt(variance + eps) gamma + beta`, in f64.
fn layer_norm(x: &[f64], gamma: &[f64], beta: &[f64], eps: f64) -> Vec<f64> {
    let normed = |row: &[f64]| -> Vec<f64> {
        let mean = row.iter().sum::<f64>() / row.len() as f64;
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / row.len() as f64;
        let rstd = 1.0 / (variance + eps).sqrt();
        row.iter().zip(gamma.iter().zip(beta)).map(|(x, (gamma, beta))| (x - mean) * rstd * gamma + beta).collect()
    };
    x.chunks(gamma.len()).flat_map(normed).collect()
}

#[test]
fn layer_norms_and_their_gradients_match_f64_with_and_without_factors() {
    const EPS: f32 = 1e-5;
    each(|d| {
        for [rows, columns] in [[1, 2], [3, 8], [5, 7], [2, 33]] {
            for has_affine in [true, false] {
                let count = rows * columns;
                let (x, g) = (values(9, count), values(10, count));
                let (gamma, beta) = match has_affine {
                    true => (values(11, columns), values(12, columns)),
                    false => (vec![1.0; columns], vec![0.0; columns]),
                };
                let of_gamma = has_affine.then_some((&gamma).into());
                let affine = Affine { gamma: of_gamma, beta: has_affine.then_some((&beta).into()) };
                let mut y = vec![f32::NAN; count];
                let saved = d.layer_norm((&x).into(), affine, [rows, columns], EPS, &mut y).unwrap();
                let (x64, gamma64, beta64) = (wide(&x), wide(&gamma), wide(&beta));
                close("y", &y, &layer_norm(&x64, &gamma64, &beta64, EPS.into()), CLOSE);

                let mut dx = vec![f32::NAN; count];
                let [mut dgamma, mut dbeta] = [vec![f32::NAN; columns], vec![f32::NAN; columns]];
                let gradients = LayerNormGradients { x: &mut dx, gamma: Some(&mut dgamma), beta: Some(&mut dbeta) };
                d.layer_norm_backward(&saved, (&x).into(), of_gamma, (&g).into(), gradients).unwrap();
                let of = |x: &[f64], gamma: &[f64], beta: &[f64]| layer_norm(x, gamma, beta, EPS.into());
                // Rows of two columns amplify the differences: their deviation can be small.
                close("dx", &dx, &slopes(|x| of(x, &gamma64, &beta64), &x64, &g), 2e-4);
                close("dgamma", &dgamma, &slopes(|gamma| of(&x64, gamma, &beta64), &gamma64, &g), CLOSE);
                close("dbeta", &dbeta, &slopes(|beta| of(&x64, &gamma64, beta), &beta64, &g), CLOSE);
            }
        }
    });
}
