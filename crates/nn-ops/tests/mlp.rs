//! The perceptron against an f64 model written from the definition.

use backend_api::{Buffer, Queue};
use nn_ops::{Mlp, NnError, Sgd, io::Tensors};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

/// Mean cross-entropy of a two-layer network, in f64.
fn model_loss(tensors: &Tensors, sizes: [usize; 3], x: &[f32], y: &[u32]) -> f64 {
    let dense = |input: &[f64], name: &str, outputs: usize| -> Vec<f64> {
        let (w, b) = (&tensors[&format!("{name}.weight")].data, &tensors[&format!("{name}.bias")].data);
        let unit = |j: usize| {
            let terms = input.iter().enumerate().map(|(i, v)| v * f64::from(w[i * outputs + j]));
            terms.sum::<f64>() + f64::from(b[j])
        };
        (0..outputs).map(unit).collect()
    };
    let losses = x.chunks(sizes[0]).zip(y).map(|(row, &target)| {
        let row: Vec<f64> = row.iter().map(|&v| f64::from(v)).collect();
        let hidden: Vec<f64> = dense(&row, "a", sizes[1]).iter().map(|v| v.max(0.0)).collect();
        let logits = dense(&hidden, "b", sizes[2]);
        logits.iter().map(|v| v.exp()).sum::<f64>().ln() - logits[target as usize]
    });
    losses.sum::<f64>() / y.len() as f64
}

const SIZES: [usize; 3] = [5, 7, 3];

fn batch(rows: usize) -> (Vec<f32>, Vec<u32>) {
    let x = (0..rows * SIZES[0]).map(|i| ((i * 37 % 23) as f32 - 11.0) / 8.0).collect();
    (x, (0..rows as u32).map(|r| r * 5 % 3).collect())
}

#[test]
fn the_loss_is_the_models_and_a_step_follows_its_gradient() {
    let q = runtime::cpu().unwrap();
    let (x, y) = batch(11);
    let (xs, ys) = (q.upload(&x).unwrap(), q.upload(&y).unwrap());
    let mut network = Mlp::new(&q, &SIZES, &mut ChaCha8Rng::seed_from_u64(3)).unwrap();
    let before = network.tensors(&q, &["a", "b"]).unwrap();
    let rate = 0.5;
    let loss = network.train_step(&q, xs.view(), ys.view(), Sgd { rate, momentum: 0.0 }).unwrap();
    assert!((f64::from(loss) - model_loss(&before, SIZES, &x, &y)).abs() < 1e-6);
    let after = network.tensors(&q, &["a", "b"]).unwrap();
    for (name, tensor) in &before {
        for i in 0..tensor.data.len() {
            let shifted = |by: f32| {
                let mut changed = before.clone();
                changed.get_mut(name).unwrap().data[i] += by;
                model_loss(&changed, SIZES, &x, &y)
            };
            let step = 1.0 / 1024.0;
            let slope = (shifted(step) - shifted(-step)) / (2.0 * f64::from(step));
            let taken = f64::from(tensor.data[i] - after[name].data[i]) / f64::from(rate);
            assert!((slope - taken).abs() < 2e-3, "{name}[{i}]: slope {slope}, step {taken}");
        }
    }
}

#[test]
fn training_is_the_same_for_the_same_seed_and_any_thread_count() {
    let (x, y) = batch(64);
    let train = |threads: usize| {
        let settings = runtime::Settings { threads: threads.try_into().ok(), ..Default::default() };
        let (q, _) = runtime::open_with(&settings, None, None).unwrap();
        let (xs, ys) = (q.upload(&x).unwrap(), q.upload(&y).unwrap());
        let mut network = Mlp::new(&q, &SIZES, &mut ChaCha8Rng::seed_from_u64(9)).unwrap();
        for _ in 0..20 {
            network.train_step(&q, xs.view(), ys.view(), Sgd { rate: 0.1, momentum: 0.9 }).unwrap();
        }
        network.tensors(&q, &["a", "b"]).unwrap()
    };
    assert_eq!(train(1), train(3));
}

#[test]
fn shapes_that_do_not_fit_are_typed() {
    let q = runtime::cpu().unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    assert!(matches!(Mlp::new(&q, &[4], &mut rng), Err(NnError::Rank { .. })));
    assert!(matches!(Mlp::new(&q, &[4, 0, 2], &mut rng), Err(NnError::EmptyReduction { .. })));
    let mut network = Mlp::new(&q, &SIZES, &mut rng).unwrap();
    let (x, y) = (q.upload(&[0.0f32; 12]).unwrap(), q.upload(&[0u32; 2]).unwrap());
    assert!(matches!(network.forward(&q, x.view()), Err(NnError::ShapeMismatch { .. })));
    let sgd = Sgd { rate: 0.1, momentum: 0.0 };
    let five = x.slice(0..5).unwrap();
    assert!(matches!(network.train_step(&q, five, y.view(), sgd), Err(NnError::ShapeMismatch { .. })));
    let none = x.slice(0..0).unwrap();
    let no_targets = y.slice(0..0).unwrap();
    assert!(matches!(network.train_step(&q, none, no_targets, sgd), Err(NnError::EmptyReduction { .. })));
}
