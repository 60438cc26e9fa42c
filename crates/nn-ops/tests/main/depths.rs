//! Steps of perceptrons of every depth against a model in f64.

use nn_ops::{Mlp, OptimizerConfig, Tensor};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

/// A layer: weights `[inputs][outputs]`, and bias.
struct DenseWeights {
    weight: Vec<Vec<f64>>,
    bias: Vec<f64>,
}

/// The layers of a network, by their exported names.
fn layers<Q: backend_api::ops::linalg::LinalgOps>(q: &Q, network: &Mlp<Q>, count: usize) -> Vec<DenseWeights> {
    let names: Vec<String> = (0..count).map(|i| format!("layer{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let tensors = network.tensors(q, &names).unwrap();
    let wide = |data: &[f32]| data.iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
    let layer = |name: &&str| {
        let (weight, bias) = (&tensors[&format!("{name}.weight")], &tensors[&format!("{name}.bias")]);
        let weight = weight.data.chunks(weight.shape[1]).map(wide).collect();
        DenseWeights { weight, bias: wide(&bias.data) }
    };
    names.iter().map(layer).collect()
}

/// Logits of one row, and what each layer was given.
fn forward(layers: &[DenseWeights], x: &[f64]) -> (Vec<f64>, Vec<Vec<f64>>) {
    let (mut value, mut given) = (x.to_vec(), Vec::new());
    for (i, layer) in layers.iter().enumerate() {
        let mut sums = layer.bias.clone();
        for (x, row) in value.iter().zip(&layer.weight) {
            sums.iter_mut().zip(row).for_each(|(sum, w)| *sum += x * w);
        }
        if i + 1 < layers.len() {
            sums.iter_mut().for_each(|sum| *sum = sum.max(0.0));
        }
        given.push(core::mem::replace(&mut value, sums));
    }
    (value, given)
}

/// One step along the gradient of the mean cross-entropy; the mean from before it.
fn step(layers: &mut [DenseWeights], rows: &[Vec<f64>], targets: &[u32], rate: f64) -> f64 {
    let mut gradients: Vec<DenseWeights> = layers
        .iter()
        .map(|layer| DenseWeights {
            weight: vec![vec![0.0; layer.bias.len()]; layer.weight.len()],
            bias: vec![0.0; layer.bias.len()],
        })
        .collect();
    let (mut loss, scale) = (0.0, 1.0 / rows.len() as f64);
    for (x, &target) in rows.iter().zip(targets) {
        let (logits, given) = forward(layers, x);
        let greatest = logits.iter().copied().fold(f64::MIN, f64::max);
        let sum: f64 = logits.iter().map(|l| (l - greatest).exp()).sum();
        loss += scale * (greatest + sum.ln() - logits[target as usize]);
        let mut d: Vec<f64> = logits.iter().map(|l| scale * (l - greatest).exp() / sum).collect();
        d[target as usize] -= scale;
        for i in (0..layers.len()).rev() {
            gradients[i].bias.iter_mut().zip(&d).for_each(|(b, d)| *b += d);
            for (x, row) in given[i].iter().zip(&mut gradients[i].weight) {
                row.iter_mut().zip(&d).for_each(|(w, d)| *w += x * d);
            }
            let below = |(x, row): (&f64, &Vec<f64>)| {
                if *x > 0.0 { row.iter().zip(&d).map(|(w, d)| w * d).sum() } else { 0.0 }
            };
            d = given[i].iter().zip(&layers[i].weight).map(below).collect();
        }
    }
    for (layer, gradient) in layers.iter_mut().zip(&gradients) {
        layer.bias.iter_mut().zip(&gradient.bias).for_each(|(b, g)| *b -= rate * g);
        for (row, gradient) in layer.weight.iter_mut().zip(&gradient.weight) {
            row.iter_mut().zip(gradient).for_each(|(w, g)| *w -= rate * g);
        }
    }
    loss
}

#[test]
fn steps_and_predictions_are_those_of_a_model_at_every_depth() {
    const ROWS: usize = 11;
    let q = runtime::cpu().unwrap();
    for sizes in [&[5, 3][..], &[5, 7, 3], &[5, 7, 6, 3], &[5, 4, 9, 8, 3]] {
        let mut network = Mlp::new(&q, sizes, &mut ChaCha8Rng::seed_from_u64(4)).unwrap();
        let x: Vec<f32> = (0..ROWS * 5).map(|i| ((i * 37 + 11) % 23) as f32 / 8.0 - 1.3).collect();
        let targets: Vec<u32> = (0..ROWS as u32).map(|i| i * i % 3).collect();
        let rows: Vec<Vec<f64>> = x.chunks(5).map(|row| row.iter().map(|&x| f64::from(x)).collect()).collect();
        let mut model = layers(&q, &network, sizes.len() - 1);
        let x = Tensor::from_values(&q, &[ROWS, 5], &x).unwrap();
        let classes = Tensor::from_values(&q, &[ROWS], &targets).unwrap();
        let mut training = network.training(&q, ROWS, OptimizerConfig::sgd(0.1, 0.0)).unwrap();
        for _ in 0..3 {
            network.train_step(&q, &mut training, x.at(), classes.at()).unwrap();
            let expected = step(&mut model, &rows, &targets, 0.1);
            let loss = f64::from(training.loss(&q).unwrap());
            assert!((loss - expected).abs() < 1e-5, "{sizes:?}: {loss}, not {expected}");
        }
        for (layer, expected) in layers(&q, &network, sizes.len() - 1).iter().zip(&model) {
            let all =
                |layer: &DenseWeights| layer.weight.concat().into_iter().chain(layer.bias.clone()).collect::<Vec<_>>();
            let far = all(layer).into_iter().zip(all(expected)).find(|(got, expected)| (got - expected).abs() > 1e-5);
            assert_eq!(far, None, "{sizes:?}");
        }
        let mut logits = Tensor::alloc(&q, &[ROWS, 3]).unwrap();
        network.forward(&q, x.at(), logits.at_mut()).unwrap();
        for (row, got) in rows.iter().zip(logits.values(&q).unwrap().chunks(3)) {
            let (expected, _) = forward(&model, row);
            let far = got.iter().zip(expected).find(|&(&got, expected)| (f64::from(got) - expected).abs() > 1e-4);
            assert_eq!(far, None, "{sizes:?}");
        }
    }
}
