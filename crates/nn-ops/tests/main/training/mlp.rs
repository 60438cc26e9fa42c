//! The perceptron's training: seeds, refusals, memory and recordings.

use backend_api::{Buffer, Queue, Record};
use half::{bf16, f16};
use nn_ops::{
    Activation, Annealing, Dropout, LossScale, Mlp, NnError, OptimizerConfig, Precision, Rule, Schedule, TensorRef,
};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

use crate::common::{batch_on, open};

const SIZES: [usize; 3] = [5, 7, 3];
const SGD: OptimizerConfig = OptimizerConfig::sgd(0.1, 0.9);
/// [`SGD`] with a loss scale that does not grow here.
const SCALED: OptimizerConfig =
    OptimizerConfig { loss_scale: Some(LossScale { initial: 64.0, growth: 2.0, backoff: 0.5, interval: 2000 }), ..SGD };

#[test]
fn training_is_the_same_for_the_same_seed_and_any_thread_count() {
    let train = |threads: usize| {
        let settings = runtime::Settings { threads: threads.try_into().ok(), ..Default::default() };
        let (q, _) = runtime::open_with(&settings, None, None).unwrap();
        let (x, y) = batch_on::<_, f32>(&q, 64);
        let mut network = Mlp::new(&q, &SIZES, &mut ChaCha8Rng::seed_from_u64(9)).unwrap();
        let mut training = network.training(&q, 64, SGD).unwrap();
        for _ in 0..20 {
            network.train_step(&q, &mut training, x.at(), y.at()).unwrap();
        }
        network.tensors(&q, &["a", "b"]).unwrap()
    };
    assert_eq!(train(1), train(3));
}

#[test]
fn shapes_that_do_not_fit_are_typed() {
    let q = runtime::cpu().unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    assert!(matches!(Mlp::new(&q, &[4], &mut rng), Err(NnError::Parameter { op: "mlp", value: 1.0, .. })));
    assert!(matches!(Mlp::new(&q, &[4, 0, 2], &mut rng), Err(NnError::EmptyReduction { .. })));
    let mut network = Mlp::new(&q, &SIZES, &mut rng).unwrap();
    let (x, y) = (q.upload(&[0.0f32; 12]).unwrap(), q.upload(&[0u32; 2]).unwrap());
    let inputs = |shape: &[usize]| TensorRef::contiguous(x.view(), shape).unwrap();
    let targets = |rows| TensorRef::contiguous(y.view(), &[rows]).unwrap();
    let wrong = network.classify(&q, inputs(&[3, 4])).unwrap_err();
    assert_eq!(wrong.to_string(), "`mlp.classify` expected x of shape [3, 5], got [3, 4]");
    let wrong = network.classify(&q, inputs(&[10])).unwrap_err();
    assert_eq!(wrong.to_string(), "`mlp.classify` expected x with 2 axes, got 1");

    let mut training = network.training::<f32>(&q, 1, SGD).unwrap();
    assert_eq!(training.loss(&q), Err(NnError::EmptyReduction { op: "mlp.loss" }));
    let mut step = |x, rows| network.train_step(&q, &mut training, x, targets(rows));
    let wrong = step(inputs(&[1, 5]), 2).unwrap_err();
    assert_eq!(wrong.to_string(), "`mlp.train_step` expected targets of shape [1], got [2]");
    assert_eq!(step(inputs(&[0, 5]), 0), Err(NnError::EmptyReduction { op: "mlp.train_step" }));
    let wrong = step(inputs(&[2, 5]), 2).unwrap_err();
    assert_eq!(wrong.to_string(), "`mlp.train_step` expected x of shape [1, 5], got [2, 5]");
    let columns = inputs(&[5, 2]).transposed().unwrap();
    assert!(matches!(step(columns, 2), Err(NnError::InvalidStride { op: "mlp.train_step", tensor: "x", .. })));
    assert_eq!(step(inputs(&[1, 5]), 1), Ok(()));
    let mut other = Mlp::new(&q, &[5, 8, 3], &mut rng).unwrap();
    let wrong = other.train_step(&q, &mut training, inputs(&[1, 5]), targets(1)).unwrap_err();
    assert_eq!(wrong.to_string(), "`mlp.train_step` expected training of shape [5, 8, 3], got [5, 7, 3]");
    let wrong = OptimizerConfig { rule: Rule::Sgd { momentum: 1.0, nesterov: false }, ..SGD };
    let wrong = [(wrong, "momentum"), (OptimizerConfig { schedule: Schedule::constant(f64::NAN), ..SGD }, "rate")];
    for (config, wrong) in wrong {
        let refused = network.training::<f32>(&q, 1, config).map(drop);
        assert!(matches!(refused, Err(NnError::Parameter { op: "optimizer", name, .. }) if name == wrong), "{wrong}");
    }
    assert!(matches!(network.training::<f32>(&q, usize::MAX, SGD), Err(NnError::Overflow { .. })));
}

#[test]
fn a_training_is_of_one_network_as_it_was() {
    let q = runtime::cpu().unwrap();
    let network = || Mlp::new(&q, &SIZES, &mut ChaCha8Rng::seed_from_u64(1)).unwrap();
    let (x, y) = batch_on::<_, f32>(&q, 2);
    let (x, y) = (x.at(), y.at());
    let mut training = network().training(&q, 2, SGD).unwrap();
    let other = NnError::OtherPlan { op: "mlp.train_step", what: "training" };
    assert_eq!(network().train_step(&q, &mut training, x, y), Err(other.clone()));

    let changed = network();
    let mut training = changed.training(&q, 2, SGD).unwrap();
    let mut changed = changed.with_activation(Activation::Tanh);
    assert_eq!(changed.train_step(&q, &mut training, x, y), Err(other.clone()));
    let mut changed = changed.with_activation(Activation::Relu);
    assert_eq!(changed.train_step(&q, &mut training, x, y), Ok(()));
    let mut changed = changed.with_dropout(Dropout::new(0.5, 1).unwrap());
    assert_eq!(changed.train_step(&q, &mut training, x, y), Err(other));
}

#[test]
fn a_logit_that_is_not_a_number_is_the_greatest() {
    let q = runtime::cpu().unwrap();
    let network = Mlp::new(&q, &SIZES, &mut ChaCha8Rng::seed_from_u64(1)).unwrap();
    let x = q.upload(&[f32::NAN; 5]).unwrap();
    assert_eq!(network.classify(&q, TensorRef::contiguous(x.view(), &[1, 5]).unwrap()), Ok(vec![0]));
}

/// Numbers of rows of successive batches.
const ROWS: [usize; 5] = [40, 40, 1, 17, 40];

fn keeps_nothing<T: Precision>(config: OptimizerConfig) {
    // The last round has a budget without a spare byte above the needs of single ops.
    let mut limit = 1 << 30;
    for _ in 0..2 {
        let settings = runtime::Settings { mem_limit_bytes: Some(limit), ..runtime::Settings::default() };
        let (q, _) = runtime::open_with(&settings, None, None).unwrap();
        let (x, y) = batch_on::<_, T>(&q, 40);
        let mut network = Mlp::new(&q, &SIZES, &mut ChaCha8Rng::seed_from_u64(4)).unwrap();
        let mut training = network.training::<T>(&q, 40, config).unwrap();
        let live = q.budget().live_bytes();
        for rows in ROWS {
            let (x, y) = (x.at().narrowed(0, 0..rows).unwrap(), y.at().narrowed(0, 0..rows).unwrap());
            network.train_step(&q, &mut training, x, y).unwrap();
            assert_eq!(q.budget().live_bytes(), live);
        }
        limit = q.budget().peak_bytes();
    }
}

#[test]
fn steps_keep_nothing_once_their_training_is_made() {
    keeps_nothing::<f32>(SGD);
    keeps_nothing::<f32>(SCALED);
    keeps_nothing::<bf16>(SGD);
}

fn trains_on_any_rows<T: Precision>(config: OptimizerConfig) {
    let q = runtime::cpu().unwrap();
    let (x, y) = batch_on::<_, T>(&q, 40);
    let network = || Mlp::new(&q, &SIZES, &mut ChaCha8Rng::seed_from_u64(4)).unwrap();
    let (mut one, mut each) = (network(), network());
    // Without a running sum, an optimizer carries nothing from one step to the next.
    let mut training = one.training::<T>(&q, 40, config).unwrap();
    for rows in ROWS {
        let (x, y) = (x.at().narrowed(0, 0..rows).unwrap(), y.at().narrowed(0, 0..rows).unwrap());
        one.train_step(&q, &mut training, x, y).unwrap();
        let mut of_rows = each.training::<T>(&q, rows, config).unwrap();
        each.train_step(&q, &mut of_rows, x, y).unwrap();
        assert_eq!(training.loss(&q), of_rows.loss(&q), "{rows} rows in {}", T::DTYPE);
        let [got, expected] = [&one, &each].map(|network| network.tensors(&q, &["a", "b"]).unwrap());
        assert_eq!(got, expected, "{rows} rows in {}", T::DTYPE);
    }
}

#[test]
fn batches_of_fewer_rows_take_the_steps_of_a_training_of_their_size() {
    let plain = OptimizerConfig::sgd(0.1, 0.0);
    let scaled = OptimizerConfig { loss_scale: SCALED.loss_scale, ..plain };
    trains_on_any_rows::<f32>(plain);
    trains_on_any_rows::<f32>(scaled);
    trains_on_any_rows::<bf16>(plain);
    trains_on_any_rows::<f16>(scaled);
}

#[test]
fn a_recorded_step_on_the_simulator_follows_its_schedule_and_masks_as_direct_ones_do() {
    let schedule = Schedule { rate: 0.1, warmup: 2, annealing: Annealing::Cosine { steps: 3, least: 0.01 } };
    let config = OptimizerConfig { schedule, clip: Some(0.5), ..OptimizerConfig::adam_w(0.1) };
    let q = open(runtime::Choice::Sim);
    let (x, y) = batch_on::<_, f32>(&q, 11);
    let train = |recorded: bool| {
        let network = Mlp::new(&q, &SIZES, &mut ChaCha8Rng::seed_from_u64(5)).unwrap();
        let mut network = network.with_dropout(Dropout::new(0.5, 8).unwrap());
        let mut training = network.training(&q, 11, config).unwrap();
        let mut losses = Vec::new();
        if recorded {
            let graph = q.record(|q| network.train_step(q, &mut training, x.at(), y.at())).unwrap();
            let graph = graph.expect("a step waits for nothing");
            for _ in 0..4 {
                q.replay(&graph).unwrap();
                losses.push(training.loss(&q).unwrap());
            }
        } else {
            for _ in 0..4 {
                network.train_step(&q, &mut training, x.at(), y.at()).unwrap();
                losses.push(training.loss(&q).unwrap());
            }
        }
        (losses, network.tensors(&q, &["a", "b"]).unwrap())
    };
    assert_eq!(train(true), train(false));
}
