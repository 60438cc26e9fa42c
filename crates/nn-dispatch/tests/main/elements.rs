//! Activations, embeddings, cross-entropy and steps of optimizers.

use std::f64::consts::FRAC_2_PI;

use nn_dispatch::{AdamOptions, AdamState, DispatchError, TensorOpsAPI};
use nn_ops::NnError;

use crate::common::{CLOSE, close, each, slopes, values, wide};

/// The tanh approximation of `x Phi(x)`.
fn gelu(x: &[f64]) -> Vec<f64> {
    x.iter().map(|x| 0.5 * x * (1.0 + (FRAC_2_PI.sqrt() * (x + 0.044_715 * x.powi(3))).tanh())).collect()
}

fn relu(x: &[f64]) -> Vec<f64> {
    x.iter().map(|x| x.max(0.0)).collect()
}

#[test]
fn activations_and_their_gradients_match_f64() {
    each(|d| {
        for count in [1, 2, 7, 64, 65] {
            let x: Vec<f32> = values(1, count).iter().map(|x| x * 4.0).collect();
            let g = values(2, count);
            let (mut y, mut dx) = (vec![f32::NAN; count], vec![f32::NAN; count]);
            let saved = d.gelu((&x).into(), &mut y).unwrap();
            d.gelu_backward(&saved, (&x).into(), (&g).into(), &mut dx).unwrap();
            close("gelu", &y, &gelu(&wide(&x)), CLOSE);
            close("gradient of gelu", &dx, &slopes(gelu, &wide(&x), &g), CLOSE);
            let saved = d.relu((&x).into(), &mut y).unwrap();
            d.relu_backward(&saved, (&x).into(), (&g).into(), &mut dx).unwrap();
            close("relu", &y, &relu(&wide(&x)), CLOSE);
            close("gradient of relu", &dx, &slopes(relu, &wide(&x), &g), CLOSE);
        }
    });
}

#[test]
fn rows_are_gathered_and_gradients_added_to_the_table() {
    each(|d| {
        for width in [1, 4, 7] {
            let (rows, indices) = (5, [4u32, 0, 4, 2, 4]);
            let (table, g) = (values(3, rows * width), values(4, indices.len() * width));
            let mut y = vec![f32::NAN; indices.len() * width];
            let saved = d.embedding((&table).into(), [rows, width], &indices, &mut y).unwrap();
            for (got, &index) in y.chunks(width).zip(&indices) {
                assert_eq!(got, &table[index as usize * width..][..width]);
            }
            let before = values(5, rows * width);
            let (mut dtable, mut expected) = (before.clone(), wide(&before));
            d.embedding_backward(&saved, (&g).into(), &mut dtable).unwrap();
            for (g, &index) in g.chunks(width).zip(&indices) {
                let row = &mut expected[index as usize * width..][..width];
                row.iter_mut().zip(g).for_each(|(sum, &g)| *sum += f64::from(g));
            }
            close("gradient of the table", &dtable, &expected, CLOSE);
        }
        let refused = d.embedding((&[0.0f32; 6]).into(), [3, 2], &[1, 3], &mut [0.0; 4]).unwrap_err();
        assert_eq!(refused, DispatchError::Op(NnError::Index { op: "indices", place: 1, rows: 3, got: 3 }));
    });
}

/// The mean cross-entropy of rows of logits, in f64.
fn cross_entropy(logits: &[f64], targets: &[f64], classes: usize) -> Vec<f64> {
    let rows = logits.len() / classes;
    let of_row = |(x, t): (&[f64], &[f64])| -> f64 {
        let total = x.iter().map(|x| x.exp()).sum::<f64>().ln();
        x.iter().zip(t).map(|(x, t)| t * (total - x)).sum()
    };
    let sum: f64 = logits.chunks(classes).zip(targets.chunks(classes)).map(of_row).sum();
    vec![sum / rows as f64]
}

#[test]
fn cross_entropies_and_their_gradients_match_f64() {
    each(|d| {
        for [rows, classes] in [[1, 1], [4, 2], [3, 7], [6, 33]] {
            let logits: Vec<f32> = values(6, rows * classes).iter().map(|x| x * 3.0).collect();
            let mut targets: Vec<f32> = values(7, rows * classes).iter().map(|t| t.abs()).collect();
            // Rows of odd numbers do not add up to 1.
            for row in targets.chunks_mut(classes).step_by(2) {
                let sum: f32 = row.iter().sum();
                row.iter_mut().for_each(|t| *t /= sum);
            }
            let (loss, saved) = d.cross_entropy((&logits).into(), (&targets).into(), [rows, classes]).unwrap();
            close("loss", &[loss], &cross_entropy(&wide(&logits), &wide(&targets), classes), CLOSE);
            let mut dlogits = vec![f32::NAN; rows * classes];
            d.cross_entropy_backward(&saved, 2.5, &mut dlogits).unwrap();
            let gradient = slopes(|x| cross_entropy(x, &wide(&targets), classes), &wide(&logits), &[2.5]);
            close("gradient of the loss", &dlogits, &gradient, CLOSE);
        }
        let none = d.cross_entropy((&[0.0f32; 0]).into(), (&[0.0f32; 0]).into(), [0, 3]).unwrap_err();
        assert_eq!(none, DispatchError::Op(NnError::EmptyReduction { op: "cross_entropy" }));
    });
}

/// Steps of Adam or AdamW in f64: algorithms 1 and 2 of the two papers.
fn adam(options: AdamOptions, w: &mut [f64], gradients: impl Fn(usize) -> Vec<f64>, steps: usize) {
    let AdamOptions { rate, beta1, beta2, eps, decay } = options;
    let (mut m, mut v) = (vec![0.0; w.len()], vec![0.0; w.len()]);
    for step in 1..=steps {
        for (i, g) in gradients(step).into_iter().enumerate() {
            m[i] = beta1 * m[i] + (1.0 - beta1) * g;
            v[i] = beta2 * v[i] + (1.0 - beta2) * g * g;
            let corrected = m[i] / (1.0 - beta1.powi(step as i32));
            let root = (v[i] / (1.0 - beta2.powi(step as i32))).sqrt();
            w[i] -= rate * (corrected / (root + eps) + decay * w[i]);
        }
    }
}

#[test]
fn steps_of_optimizers_match_f64() {
    each(|d| {
        for count in [1, 6, 65] {
            let w = values(8, count);
            let mut stepped = w.clone();
            d.sgd_step(&mut stepped, (&values(9, count)).into(), 0.25).unwrap();
            let expected: Vec<f64> = wide(&w).iter().zip(wide(&values(9, count))).map(|(w, g)| w - 0.25 * g).collect();
            close("sgd", &stepped, &expected, CLOSE);

            for decay in [0.0, 0.1] {
                let options = AdamOptions { rate: 0.05, decay, ..AdamOptions::default() };
                let (mut stepped, mut expected) = (w.clone(), wide(&w));
                let mut state = AdamState::new(count, options).unwrap();
                for step in 1..=20 {
                    d.adam_step(&mut stepped, (&values(step, count)).into(), &mut state).unwrap();
                }
                adam(options, &mut expected, |step| wide(&values(step as u64, count)), 20);
                close("adam", &stepped, &expected, 1e-4);
                assert_eq!((state.steps(), state.len()), (20, count));
            }
        }
        let rate = d.sgd_step(&mut [1.0], (&[1.0f32]).into(), f32::NAN).unwrap_err();
        assert!(matches!(rate, DispatchError::Op(NnError::Parameter { op: "sgd_step", name: "rate", .. })), "{rate}");
    });
    let refused = AdamState::new(1, AdamOptions { beta1: 1.0, ..AdamOptions::default() }).unwrap_err();
    assert!(matches!(refused, DispatchError::Op(NnError::Parameter { name: "beta1", .. })), "{refused}");
}
