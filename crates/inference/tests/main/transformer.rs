//! The transformer block with its trained weights, against the same block in double precision.

use inference::{
    Architecture, Model, Parameters, Preference,
    digits::{self, Digits},
    plain,
};
use nn_ops::io::{Tensors, read_safetensors};

use crate::common::{images, keys, run};

const FILE: &[u8] = include_bytes!("../../../../data/models/transformer.safetensors");
const POSITIONS: usize = 8;
const WIDTH: usize = 16;
const HEADS: usize = 4;

fn model(count: usize) -> Model {
    Model::new(Architecture::Transformer, count).unwrap()
}

/// `x W + b` of one row.
fn dense(tensors: &Tensors, name: &str, x: &[f64], position: usize) -> Vec<f64> {
    let [w, b] = ["weight", "bias"].map(|part| &tensors[&format!("{name}.{part}")]);
    let outputs = w.shape[1];
    let bias = b.data.chunks(outputs).nth(position).unwrap();
    let sum = |j: usize| x.iter().enumerate().map(|(i, x)| x * f64::from(w.data[i * outputs + j])).sum::<f64>();
    (0..outputs).map(|j| sum(j) + f64::from(bias[j])).collect()
}

fn norm(x: &[f64]) -> Vec<f64> {
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64;
    x.iter().map(|x| (x - mean) / (variance + 1.0 / 16.0).sqrt()).collect()
}

/// `x Φ(x)`, by the series of the error function (Abramowitz and Stegun, 7.1.6).
fn gelu(x: f64) -> f64 {
    let z = x.abs() / 2f64.sqrt();
    let (mut term, mut sum) = (z, z);
    for n in 1..200 {
        term *= 2.0 * z * z / f64::from(2 * n + 1);
        sum += term;
    }
    let erf = 2.0 / std::f64::consts::PI.sqrt() * (-z * z).exp() * sum;
    x * 0.5 * (1.0 + erf.copysign(x))
}

/// The logits of one image of 8 rows.
fn logits(tensors: &Tensors, image: &[f64]) -> Vec<f64> {
    let embed = |(position, row): (usize, &[f64])| dense(tensors, "embed", row, position);
    let mut x: Vec<Vec<f64>> = image.chunks(8).enumerate().map(embed).collect();
    let add = |x: &mut Vec<Vec<f64>>, out: Vec<Vec<f64>>| {
        x.iter_mut().flatten().zip(out.into_iter().flatten()).for_each(|(x, y)| *x += y);
    };

    let projected: Vec<Vec<f64>> = x.iter().map(|row| dense(tensors, "attention.qkv", &norm(row), 0)).collect();
    let part = |position: usize, part: usize, head: usize| {
        let units = WIDTH / HEADS;
        &projected[position][part * WIDTH + head * units..][..units]
    };
    let mut mixed = vec![Vec::new(); POSITIONS];
    for (position, row) in mixed.iter_mut().enumerate() {
        for head in 0..HEADS {
            let score = |other: usize| {
                part(position, 0, head).iter().zip(part(other, 1, head)).map(|(q, k)| q * k).sum::<f64>() / 2.0
            };
            let exps: Vec<f64> = (0..POSITIONS).map(|other| score(other).exp()).collect();
            let sum: f64 = exps.iter().sum();
            for unit in 0..WIDTH / HEADS {
                row.push((0..POSITIONS).map(|other| exps[other] / sum * part(other, 2, head)[unit]).sum());
            }
        }
    }
    add(&mut x, mixed.iter().map(|row| dense(tensors, "attention.out", row, 0)).collect());

    let feed = |row: &Vec<f64>| {
        let hidden: Vec<f64> = dense(tensors, "feed.hidden", &norm(row), 0).into_iter().map(gelu).collect();
        dense(tensors, "feed.out", &hidden, 0)
    };
    let fed = x.iter().map(feed).collect();
    add(&mut x, fed);
    let mean: Vec<f64> = (0..WIDTH).map(|j| x.iter().map(|row| row[j]).sum::<f64>() / POSITIONS as f64).collect();
    dense(tensors, "head", &mean, 0)
}

#[test]
fn the_transformer_in_fixed_point_is_the_transformer_in_double_precision_up_to_rounding() {
    let (_, test) = digits::load().unwrap();
    let tensors = read_safetensors(FILE).unwrap();
    for preference in Preference::ALL {
        let model = model(test.count()).preferring(preference);
        let weights = Parameters::from_tensors(&model, &tensors).unwrap();
        let got = plain::logits(&model, &weights, &test.fixed_point()).unwrap();
        check(&tensors, &test, &got);
    }
}

/// Checks the logits of test images, and the classes.
fn check(tensors: &Tensors, test: &Digits, got: &[u64]) {
    let (mut worst, mut sum) = (0f64, 0.0);
    for (image, got) in test.normalised().chunks(digits::PIXELS).zip(got.chunks(digits::CLASSES)) {
        let image: Vec<f64> = image.iter().map(|&pixel| f64::from(pixel)).collect();
        for (exact, &word) in logits(tensors, &image).iter().zip(got) {
            let error = (word.cast_signed() as f64 / f64::from(1 << 24) - exact).abs();
            (worst, sum) = (worst.max(error), sum + error);
        }
    }
    // logits are about 10; each of a dozen roundings by 2^-12 passes a few matrices with columns of length about 2
    assert!(worst < 0.05, "{worst}");
    assert!(sum / (got.len() as f64) < 0.005, "{}", sum / got.len() as f64);

    let classes = digits::labels(got);
    let correct = classes.iter().zip(&test.labels).filter(|(a, b)| a == b).count();
    assert!(correct >= 346, "{correct} of {}", test.count()); // 96 %
}

#[test]
fn the_trained_transformer_on_shares_is_that_in_the_clear() {
    for preference in Preference::ALL {
        let model = model(2).preferring(preference);
        let weights = Parameters::read(&model, FILE).unwrap();
        let [client, _] = run(&model, keys(&model), &weights).map(Result::unwrap);
        assert_eq!(client.logits, Some(plain::logits(&model, &weights, &images(&model)).unwrap()));
    }
}
