//! Trainings that stop and are taken up again.

use half::f16;
use nn_ops::{
    Activation, Annealing, Dropout, LossScale, Mlp, NnError, OptimizerConfig, Precision, Rule, Schedule, WeightDecay,
    io::{Checkpoint, Tensors},
};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
use runtime::AnyQueue;

use crate::common::batch_on;

const SIZES: [usize; 4] = [5, 9, 8, 3];
const ROWS: usize = 12;

fn queue() -> AnyQueue {
    runtime::open_with(&runtime::Settings::default(), None, None).unwrap().0
}

fn network(q: &AnyQueue) -> Mlp<AnyQueue> {
    let dropout = Dropout::new(0.2, 77).unwrap();
    let network = Mlp::new(q, &SIZES, &mut ChaCha8Rng::seed_from_u64(6)).unwrap();
    network.with_activation(Activation::GeluTanh).with_dropout(dropout)
}

fn configurations() -> [OptimizerConfig; 2] {
    let annealing = Annealing::Cosine { steps: 15, least: 1e-4 };
    let schedule = Schedule { rate: 0.02, warmup: 4, annealing };
    let loss_scale = Some(LossScale { initial: 1e9, interval: 3, ..LossScale::default() });
    [
        OptimizerConfig { schedule, clip: Some(0.5), loss_scale, ..OptimizerConfig::adam_w(0.02) },
        OptimizerConfig {
            rule: Rule::Sgd { momentum: 0.9, nesterov: true },
            decay: WeightDecay::Coupled(1e-3),
            schedule,
            loss_scale,
            ..OptimizerConfig::sgd(0.1, 0.9)
        },
    ]
}

/// What 20 steps leave, with a stop after each of `stops`, from which nothing survives but bytes.
fn trained<T: Precision>(config: OptimizerConfig, stops: &[usize]) -> (Checkpoint, Tensors, u32) {
    let q = queue();
    let (x, y) = batch_on::<_, T>(&q, ROWS);
    let mut network = network(&q);
    let mut training = network.training(&q, ROWS, config).unwrap();
    for step in 0..20 {
        if stops.contains(&step) {
            let bytes = network.save(&q, &training).unwrap().to_bytes().unwrap();
            let checkpoint = Checkpoint::from_bytes(&bytes).unwrap();
            network = Mlp::resume(&q, &checkpoint).unwrap();
            training = network.resume_training(&q, ROWS, &checkpoint).unwrap();
        }
        network.train_step(&q, &mut training, x.at(), y.at()).unwrap();
    }
    let loss = training.loss(&q).unwrap().to_bits();
    let tensors = network.tensors(&q, &["a", "b", "c"]).unwrap();
    (network.save(&q, &training).unwrap(), tensors, loss)
}

#[test]
fn a_training_that_was_stopped_ends_with_the_same_bits() {
    for config in configurations() {
        let whole = trained::<f32>(config, &[]);
        assert_eq!(trained::<f32>(config, &[0, 3, 11]), whole);
        let skipped: u64 = whole.0.text["optimizer.state"].split(' ').nth(1).unwrap().parse().unwrap();
        let whole = trained::<f16>(config, &[]);
        assert_eq!(trained::<f16>(config, &[1, 2, 19]), whole);
        let of_halves: u64 = whole.0.text["optimizer.state"].split(' ').nth(1).unwrap().parse().unwrap();
        assert!(skipped == 0 && of_halves > 5, "{skipped} and {of_halves} steps were left out");
    }
}

#[test]
fn networks_of_broken_checkpoints_are_refused() {
    let q = queue();
    let network = network(&q);
    let whole = network.save(&q, &network.training::<f32>(&q, 1, configurations()[0]).unwrap()).unwrap();
    let refused = |change: &dyn Fn(&mut Checkpoint)| {
        let mut checkpoint = whole.clone();
        change(&mut checkpoint);
        let network = match Mlp::resume(&q, &checkpoint) {
            Err(error) => return error.to_string(),
            Ok(network) => network,
        };
        network.resume_training::<f32>(&q, 1, &checkpoint).map(drop).unwrap_err().to_string()
    };
    let text = |key: &'static str, text: &'static str| {
        refused(&|checkpoint| drop(checkpoint.text.insert(key.to_owned(), text.to_owned())))
    };
    let step = "checkpoint: expected the name of an activation under `mlp.activation`, got `step`";
    assert_eq!(text("mlp.activation", "step"), step);
    for broken in [text("mlp.dropout", "2 1"), text("mlp.dropout", "0.5"), text("mlp.dropout", "0.5 1 1")] {
        assert!(broken.contains("under `mlp.dropout`"), "{broken}");
    }
    for (key, more) in [("mlp.layers", "3 3"), ("mlp.activation", "relu relu")] {
        assert!(text(key, more).ends_with(&format!("under `{key}`, got `{more}`")));
    }
    assert!(text("optimizer.rule", "lion").contains("under `optimizer.rule`"));
    let gone = refused(&|checkpoint| drop(checkpoint.text.remove("mlp.activation")));
    assert_eq!(gone, "checkpoint: expected the name of an activation under `mlp.activation`, got nothing");
    let bias = refused(&|checkpoint| drop(checkpoint.tensors.remove("layers.1.bias")));
    assert_eq!(bias, "there is no tensor `layers.1.bias`");
    let fewer = refused(&|checkpoint| drop(checkpoint.tensors.remove("layers.2.weight")));
    assert_eq!(fewer, "there is no tensor `layers.2.weight`");
    assert_eq!(text("mlp.layers", "99999999999"), "there is no tensor `layers.3.weight`");
    let none = refused(&|checkpoint| checkpoint.tensors.clear());
    assert_eq!(none, "there is no tensor `layers.0.weight`");
    let empty = Mlp::<AnyQueue>::resume(&q, &Checkpoint::default()).map(drop);
    assert!(matches!(empty, Err(NnError::Checkpoint { got: None, .. })), "{empty:?}");
}
