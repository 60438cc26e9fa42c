//! The perceptron against an f64 model written from the definition.

use backend_api::{
    Buffer, Queue, Record, Ref,
    ops::{linalg::LinalgOps, tensor::TensorOps},
};
use nn_ops::{
    Activation, Annealing, Dropout, Mlp, MlpTraining, NnError, OptimizerConfig, Rule, Schedule, TensorRef, io::Tensors,
};
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
const SGD: OptimizerConfig = OptimizerConfig::sgd(0.1, 0.9);

fn batch(rows: usize) -> (Vec<f32>, Vec<u32>) {
    let x = (0..rows * SIZES[0]).map(|i| ((i * 37 % 23) as f32 - 11.0) / 8.0).collect();
    (x, (0..rows as u32).map(|r| r * 5 % 3).collect())
}

/// A step on the first `rows` rows of x and y.
fn step<'a, Q: LinalgOps + TensorOps + 'a>(
    q: &Q,
    network: &mut Mlp<Q>,
    training: &mut MlpTraining<Q>,
    (rows, x, y): (usize, Ref<'a, Q, f32>, Ref<'a, Q, u32>),
) -> Result<(), NnError> {
    let (x, y) = (TensorRef::contiguous(x, &[rows, SIZES[0]])?, TensorRef::contiguous(y, &[rows])?);
    network.train_step(q, training, x, y)
}

#[test]
fn the_loss_is_the_models_and_a_step_follows_its_gradient() {
    let q = runtime::cpu().unwrap();
    let (x, y) = batch(11);
    let (xs, ys) = (q.upload(&x).unwrap(), q.upload(&y).unwrap());
    let mut network = Mlp::new(&q, &SIZES, &mut ChaCha8Rng::seed_from_u64(3)).unwrap();
    let before = network.tensors(&q, &["a", "b"]).unwrap();
    let rate = 0.5;
    let mut training = network.training(&q, 16, OptimizerConfig::sgd(rate, 0.0)).unwrap();
    assert_eq!(training.loss(&q), Err(NnError::EmptyReduction { op: "mlp.loss" }));
    step(&q, &mut network, &mut training, (11, xs.view(), ys.view())).unwrap();
    let loss = training.loss(&q).unwrap();
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
            let taken = f64::from(tensor.data[i] - after[name].data[i]) / rate;
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
        let mut training = network.training(&q, 64, SGD).unwrap();
        for _ in 0..20 {
            step(&q, &mut network, &mut training, (64, xs.view(), ys.view())).unwrap();
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

    let mut training = network.training(&q, 1, SGD).unwrap();
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
    let (x, y) = batch(2);
    let (x, y) = (q.upload(&x).unwrap(), q.upload(&y).unwrap());
    let (x, y) = (TensorRef::contiguous(x.view(), &[2, 5]).unwrap(), TensorRef::contiguous(y.view(), &[2]).unwrap());
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

#[test]
fn steps_keep_nothing_once_their_training_is_made() {
    let (x, y) = batch(40);
    // The last round has a budget without a spare byte above the needs of single ops.
    let mut limit = 1 << 30;
    for _ in 0..2 {
        let settings = runtime::Settings { mem_limit_bytes: Some(limit), ..runtime::Settings::default() };
        let (q, _) = runtime::open_with(&settings, None, None).unwrap();
        let (xs, ys) = (q.upload(&x).unwrap(), q.upload(&y).unwrap());
        let mut network = Mlp::new(&q, &SIZES, &mut ChaCha8Rng::seed_from_u64(4)).unwrap();
        let mut training = network.training(&q, 40, SGD).unwrap();
        let live = q.budget().live_bytes();
        for rows in [40, 40, 1, 17, 40] {
            step(&q, &mut network, &mut training, (rows, xs.view(), ys.view())).unwrap();
            assert_eq!(q.budget().live_bytes(), live);
        }
        limit = q.budget().peak_bytes();
    }
}

#[test]
fn a_recorded_step_on_the_simulator_follows_its_schedule_and_masks_as_direct_ones_do() {
    let schedule = Schedule { rate: 0.1, warmup: 2, annealing: Annealing::Cosine { steps: 3, least: 0.01 } };
    let config = OptimizerConfig { schedule, clip: Some(0.5), ..OptimizerConfig::adam_w(0.1) };
    let settings = runtime::Settings::default();
    let (q, _) = runtime::open_with(&settings, None, Some(runtime::Choice::Sim)).unwrap();
    let (x, y) = batch(11);
    let (xs, ys) = (q.upload(&x).unwrap(), q.upload(&y).unwrap());
    let train = |recorded: bool| {
        let network = Mlp::new(&q, &SIZES, &mut ChaCha8Rng::seed_from_u64(5)).unwrap();
        let mut network = network.with_dropout(Dropout::new(0.5, 8).unwrap());
        let mut training = network.training(&q, 11, config).unwrap();
        let mut losses = Vec::new();
        if recorded {
            let one = |q: &_| step(q, &mut network, &mut training, (11, xs.view(), ys.view()));
            let graph = q.record(one).unwrap().expect("a step waits for nothing");
            for _ in 0..4 {
                q.replay(&graph).unwrap();
                losses.push(training.loss(&q).unwrap());
            }
        } else {
            for _ in 0..4 {
                step(&q, &mut network, &mut training, (11, xs.view(), ys.view())).unwrap();
                losses.push(training.loss(&q).unwrap());
            }
        }
        (losses, network.tensors(&q, &["a", "b"]).unwrap())
    };
    assert_eq!(train(true), train(false));
}
