//! Networks with every activation and dropout, and in 16 bits.

use half::{bf16, f16};
use nn_ops::{Activation, Dropout, LossScale, Mlp, NnError, OptimizerConfig, Overflow, Precision, Tensor, io::Tensors};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

use crate::common::batch_on;

const SIZES: [usize; 4] = [5, 7, 6, 3];
const NAMES: [&str; 3] = ["a", "b", "c"];
const ROWS: usize = 9;

/// The loss of a network before a step at this rate, and its weights after it.
fn step(tensors: &Tensors, f: Activation, dropout: Option<Dropout>, rate: f64) -> (f64, Tensors) {
    let q = runtime::cpu().unwrap();
    let mut network = Mlp::import(&q, &NAMES, tensors).unwrap().with_activation(f);
    if let Some(dropout) = dropout {
        network = network.with_dropout(dropout);
    }
    let (x, y) = batch_on::<_, f32>(&q, ROWS);
    let config = OptimizerConfig { loss_scale: Some(LossScale::default()), ..OptimizerConfig::sgd(rate, 0.0) };
    let mut training = network.training(&q, ROWS, config).unwrap();
    network.train_step(&q, &mut training, x.at(), y.at()).unwrap();
    (training.loss(&q).unwrap().into(), network.tensors(&q, &NAMES).unwrap())
}

/// The mask of a first step is the same whenever that is taken, so losses of changed weights are comparable.
#[test]
fn steps_follow_the_slopes_of_every_activation_with_and_without_dropout() {
    let q = runtime::cpu().unwrap();
    let network = Mlp::new(&q, &SIZES, &mut ChaCha8Rng::seed_from_u64(5)).unwrap();
    let before = network.tensors(&q, &NAMES).unwrap();
    for f in Activation::ALL {
        for dropout in [None, Some(Dropout::new(0.3, 9).unwrap())] {
            let (_, after) = step(&before, f, dropout, 1.0);
            for (name, tensor) in &before {
                for i in (0..tensor.data.len()).step_by(5) {
                    let shifted = |by: f32| {
                        let mut changed = before.clone();
                        changed.get_mut(name).unwrap().data[i] += by;
                        step(&changed, f, dropout, 0.0).0
                    };
                    let slope = (shifted(0.0078125) - shifted(-0.0078125)) / 0.015625;
                    let taken = f64::from(tensor.data[i]) - f64::from(after[name].data[i]);
                    assert!((slope - taken).abs() < 2e-3, "{f:?}, {name}[{i}]: slope {slope}, step {taken}");
                }
            }
        }
    }
}

#[test]
fn dropout_changes_from_step_to_step_and_not_in_predictions() {
    let q = runtime::cpu().unwrap();
    let dropout = Dropout::new(0.5, 3).unwrap();
    let mut network = Mlp::new(&q, &SIZES, &mut ChaCha8Rng::seed_from_u64(5)).unwrap();
    let (x, y) = batch_on::<_, f32>(&q, ROWS);
    let plain = network.classify(&q, x.at()).unwrap();
    network = network.with_dropout(dropout);
    let mut training = network.training(&q, ROWS, OptimizerConfig::sgd(0.0, 0.0)).unwrap();
    let losses: Vec<f32> = (0..4)
        .map(|_| {
            network.train_step(&q, &mut training, x.at(), y.at()).unwrap();
            training.loss(&q).unwrap()
        })
        .collect();
    assert!(losses.windows(2).all(|pair| pair[0] != pair[1]), "{losses:?}");
    assert_eq!(network.classify(&q, x.at()).unwrap(), plain);
}

/// Training in 16 bits ends near that in f32; weights stay in f32 and are predicted with in 16 bits.
fn mixed<T: Precision>(loss_scale: Option<LossScale>, bound: f32) {
    let q = runtime::cpu().unwrap();
    let ((x, y), (half_x, _)) = (batch_on::<_, f32>(&q, ROWS), batch_on::<_, T>(&q, ROWS));
    let config = OptimizerConfig { loss_scale, ..OptimizerConfig::adam_w(0.02) };
    let new = || Mlp::new(&q, &SIZES, &mut ChaCha8Rng::seed_from_u64(5)).unwrap().with_activation(Activation::Silu);
    let (mut wide, mut network) = (new(), new());
    let mut training = wide.training(&q, ROWS, config).unwrap();
    let mut mixed = network.training::<T>(&q, ROWS, config).unwrap();
    for _ in 0..60 {
        wide.train_step(&q, &mut training, x.at(), y.at()).unwrap();
        network.train_step(&q, &mut mixed, half_x.at(), y.at()).unwrap();
    }
    let (expected, got) = (training.loss(&q).unwrap(), mixed.loss(&q).unwrap());
    assert!((expected - got).abs() < bound && expected < 1.0, "{}: {got}, in f32 {expected}", T::DTYPE);
    let state = mixed.optimizer().state(&q).unwrap();
    assert_eq!((state.step + state.skipped, state.skipped < 10), (60, true), "{state:?}");
    let inference = network.narrowed::<T>(&q, Overflow::Refuse).unwrap();
    let mut half_logits = Tensor::alloc(&q, &[ROWS, 3]).unwrap();
    let mut logits = Tensor::alloc(&q, &[ROWS, 3]).unwrap();
    inference.forward(&q, half_x.at(), half_logits.at_mut()).unwrap();
    network.forward(&q, x.at(), logits.at_mut()).unwrap();
    let (half_logits, logits) = (half_logits.values(&q).unwrap(), logits.values(&q).unwrap());
    for (got, expected) in half_logits.iter().zip(logits) {
        assert!((got.to_f32() - expected).abs() < bound, "{}: logit {got:?}, in f32 {expected}", T::DTYPE);
    }
    let greatest = |row: &[T]| row.iter().map(|logit| logit.to_f32()).fold(f32::MIN, f32::max);
    for (class, row) in inference.classify(&q, half_x.at()).unwrap().into_iter().zip(half_logits.chunks(3)) {
        assert_eq!(row[class as usize].to_f32(), greatest(row));
    }
}

#[test]
fn networks_train_and_predict_in_16_bits() {
    mixed::<f16>(Some(LossScale { initial: 65_536.0 * 64.0, interval: 20, ..LossScale::default() }), 0.05);
    mixed::<bf16>(None, 0.1);
}

#[test]
fn weights_beyond_the_range_of_16_bits_are_refused() {
    let q = runtime::cpu().unwrap();
    let network = Mlp::new(&q, &[2, 2], &mut ChaCha8Rng::seed_from_u64(1)).unwrap();
    let mut great = network.tensors(&q, &["a"]).unwrap();
    great.get_mut("a.bias").unwrap().data[1] = 1e5;
    let great = Mlp::import(&q, &["a"], &great).unwrap();
    let refused = great.training::<f16>(&q, 1, OptimizerConfig::sgd(0.1, 0.0)).map(drop);
    assert!(matches!(refused, Err(NnError::Range { count: 1, .. })), "{refused:?}");
}
