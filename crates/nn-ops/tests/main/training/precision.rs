//! Layers and ops of the tape in 16 bits against the same in f32.
//!
//! A type of p bits rounds with a relative error of at most `u = 2^-p`: 2^-11 in f16 and 2^-8 in
//! bf16. Both passes start from the same numbers, which fit the type. A result that is rounded once
//! is within u of the one in f32. After k roundings in a row a tensor is within `k u` in the
//! 2-norm, as no step here makes the relative error of its operands greater in that norm; after
//! many roundings within `sqrt(k) u`, as they are independent (Higham, Mary, "A New Approach to
//! Probabilistic Rounding Error Analysis", 2019).

use std::sync::Arc;

use backend_api::{DType, Queue};
use half::{bf16, f16};
use nn_ops::{
    Activation, AnyLayer, CacheShape, Dense, Dropout, Embedding, Gru, GruVariant, Indices, KeyValueCache, Layer,
    LayerNorm, LossScale, MasterWeights, Mode, NnError, Optimizer, OptimizerConfig, ParameterArena, ParameterSpec,
    ParameterTable, Precision, RmsNorm, SelfAttention, Sequential, Tape, Tensor, Var,
};
use runtime::{AnyQueue, Choice};

use super::drawn;
use crate::common::{on_each_device, open};

const TRAINING: Mode = Mode::Training { step: 3 };
/// Rounding of sums in f32, of some ten terms of about 1.
const F32: f64 = 1e-5;

/// The greatest relative error of a rounding to `T`.
pub(super) fn unit<T: Precision>() -> f64 {
    match T::DTYPE {
        DType::F16 => 2f64.powi(-11),
        DType::Bf16 => 2f64.powi(-8),
        _ => 2f64.powi(-24),
    }
}

/// Half the distance of the smallest numbers of f16; other types have smaller ones.
const SUBNORMAL: f64 = 1.0 / 33_554_432.0;

/// Random numbers representable in `T`.
fn fitting<T: Precision>(seed: u64, shape: &[usize], site: u32) -> Vec<f32> {
    drawn(seed, shape, site).into_iter().map(|x| T::from_f32(x).to_f32()).collect()
}

fn tensor<T: Precision>(q: &AnyQueue, shape: &[usize], values: &[f32]) -> Tensor<AnyQueue, T> {
    let values: Vec<T> = values.iter().map(|&x| T::from_f32(x)).collect();
    Tensor::from_values(q, shape, &values).unwrap()
}

fn host<T: Precision>(q: &AnyQueue, x: &Tensor<AnyQueue, T>) -> Vec<f32> {
    x.values(q).unwrap().into_iter().map(T::to_f32).collect()
}

/// Compares results that are rounded to `T` once.
fn expect_rounded<T: Precision>(name: &str, got: &[f32], expected: &[f32]) {
    assert_eq!(got.len(), expected.len(), "{name}");
    for (i, (&got, &expected)) in got.iter().zip(expected).enumerate() {
        let bound = unit::<T>() * f64::from(expected.abs()) + SUBNORMAL + F32;
        let error = (f64::from(got) - f64::from(expected)).abs();
        assert!(error <= bound, "{name} in {}, element {i}: {got} instead of {expected}", T::DTYPE);
    }
}

/// Compares results with a relative error of at most `roundings` times [`unit`].
pub(super) fn expect_norm<T: Precision>(name: &str, got: &[f32], expected: &[f32], roundings: f64) {
    assert_eq!(got.len(), expected.len(), "{name}");
    let norm = |x: &mut dyn Iterator<Item = f64>| x.map(|x| x * x).sum::<f64>().sqrt();
    let error = norm(&mut got.iter().zip(expected).map(|(&got, &expected)| f64::from(got) - f64::from(expected)));
    let bound = roundings * unit::<T>() * norm(&mut expected.iter().map(|&x| f64::from(x))) + F32;
    assert!(error <= bound, "{name} in {}: {error:e} above {bound:e}", T::DTYPE);
}

/// The output of a layer, the gradient of its input, and the gradients of its parameters.
struct Pass {
    y: Vec<f32>,
    of_x: Vec<f32>,
    of_parameters: Vec<f32>,
}

/// A pass in `T` from numbers representable in `N`. Gradients of parameters start with ones.
fn pass<T: Precision, N: Precision>(
    choice: Choice,
    layer: &impl Layer,
    table: &Arc<ParameterTable>,
    shape: &[usize],
) -> Pass {
    let q = open(choice);
    let (mut values, mut gradients) =
        (ParameterArena::zeros(&q, table).unwrap(), ParameterArena::zeros(&q, table).unwrap());
    for (site, id) in (100..).zip(table.ids()) {
        let of = table.layout(id).unwrap().shape();
        values.write(&q, id, &fitting::<N>(17, of, site)).unwrap();
        gradients.write(&q, id, &vec![1.0; of.iter().product()]).unwrap();
    }
    let weights = MasterWeights::<_, T>::new(&q, values).unwrap();
    let x = tensor::<T>(&q, shape, &fitting::<N>(17, shape, 1));
    let (y, saved) = layer.forward(&q, weights.layers(), TRAINING, x.at()).unwrap();
    let g = tensor::<T>(&q, y.layout().shape(), &fitting::<N>(17, y.layout().shape(), 2));
    let of_x = layer.backward(&q, weights.layers(), saved, x.at(), g.at(), &mut gradients).unwrap();
    assert_eq!(of_x.layout().shape(), shape);
    let ids = table.ids().flat_map(|id| gradients.values(&q, id).unwrap());
    Pass { y: host(&q, &y), of_x: host(&q, &of_x), of_parameters: ids.map(|g| g - 1.0).collect() }
}

/// Compares a layer whose results are each rounded once, on the processor and a simulated device.
fn rounds_once<T: Precision>(name: &str, layer: impl Into<AnyLayer>, table: &Arc<ParameterTable>, shape: &[usize]) {
    let layer = layer.into();
    let expected = pass::<f32, T>(Choice::Cpu, &layer, table, shape);
    for choice in [Choice::Cpu, Choice::Sim] {
        let got = pass::<T, T>(choice, &layer, table, shape);
        expect_rounded::<T>(&format!("{name}, y"), &got.y, &expected.y);
        expect_rounded::<T>(&format!("{name}, of x"), &got.of_x, &expected.of_x);
        expect_rounded::<T>(&format!("{name}, of parameters"), &got.of_parameters, &expected.of_parameters);
    }
}

/// Compares a layer with `forward` roundings in a row to its output, and then `backward` ones.
fn rounds_often<T: Precision>(
    name: &str,
    layer: &impl Layer,
    table: &Arc<ParameterTable>,
    shape: &[usize],
    [forward, backward]: [f64; 2],
) {
    let expected = pass::<f32, T>(Choice::Cpu, layer, table, shape);
    let all = forward + backward;
    for choice in [Choice::Cpu, Choice::Sim] {
        let got = pass::<T, T>(choice, layer, table, shape);
        expect_norm::<T>(&format!("{name}, y"), &got.y, &expected.y, forward);
        expect_norm::<T>(&format!("{name}, of x"), &got.of_x, &expected.of_x, all);
        expect_norm::<T>(&format!("{name}, of parameters"), &got.of_parameters, &expected.of_parameters, all);
    }
}

fn layers_round_once<T: Precision>() {
    let dense = ParameterTable::new(&Dense::specs("layer", [3, 4])).unwrap();
    for shape in [&[5, 3][..], &[2, 2, 3], &[3]] {
        rounds_once::<T>("dense", Dense::find(&dense, "layer").unwrap(), &dense, shape);
    }
    let norm = ParameterTable::new(&LayerNorm::specs("layer", 6)).unwrap();
    rounds_once::<T>("layer norm", LayerNorm::find(&norm, "layer", 1e-2).unwrap(), &norm, &[2, 2, 6]);
    let norm = ParameterTable::new(&RmsNorm::specs("layer", 6)).unwrap();
    rounds_once::<T>("rms norm", RmsNorm::find(&norm, "layer", 1e-2).unwrap(), &norm, &[3, 6]);
    for variant in [GruVariant::ResetBefore, GruVariant::ResetAfter] {
        let unit = ParameterTable::new(&Gru::specs("layer", [3, 4], variant)).unwrap();
        rounds_once::<T>(&format!("{variant:?}"), Gru::find(&unit, "layer").unwrap(), &unit, &[3, 2, 3]);
    }
    let none = ParameterTable::new(&[]).unwrap();
    rounds_once::<T>("dropout", Dropout::new(0.4, 5).unwrap().at(2), &none, &[6, 7]);
    for f in Activation::ALL {
        // Gradients from a result that is rounded itself have a second rounding; a derivative of
        // sigmoid or tanh changes by up to twice as much as the result.
        if f.saves_output() {
            rounds_often::<T>(f.name(), &f, &none, &[4, 5], [1.0, 2.0]);
        } else {
            rounds_once::<T>(f.name(), f, &none, &[4, 5]);
        }
    }
}

#[test]
fn layers_in_16_bits_have_the_results_in_f32_rounded_once() {
    layers_round_once::<f16>();
    layers_round_once::<bf16>();
}

fn layers_of_several_steps<T: Precision>() {
    // Forward: queries, keys and values, weights, their products with values, and the output.
    // Backward: the same number of products, and the sums of gradients.
    let all = ParameterTable::new(&SelfAttention::specs("layer", 6)).unwrap();
    let layer = SelfAttention::find(&all, "layer", 2).unwrap();
    let dropout = Dropout::new(0.3, 9).unwrap().at(1);
    for layer in [layer, layer.causal(), layer.causal().with_dropout(dropout)] {
        rounds_often::<T>("attention", &layer, &all, &[2, 4, 6], [4.0, 5.0]);
    }
    // A dense layer, tanh, a dense layer; tanh is computed again in the backward pass.
    let all = ParameterTable::new(&[Dense::specs("0", [3, 4]), Dense::specs("1", [4, 2])].concat()).unwrap();
    let [first, last] = ["0", "1"].map(|name| Dense::find(&all, name).unwrap());
    let network = Sequential::new([first.into(), Activation::Tanh.into(), last.into()]);
    rounds_often::<T>("a sequence", &network, &all, &[5, 3], [3.0, 4.0]);
}

#[test]
fn attention_and_sequences_in_16_bits_are_those_in_f32_within_their_roundings() {
    layers_of_several_steps::<f16>();
    layers_of_several_steps::<bf16>();
}

fn decodes<T: Precision>() {
    let q = open(Choice::Cpu);
    let (shape, all) = ([2, 5, 6], ParameterTable::new(&SelfAttention::specs("layer", 6)).unwrap());
    let layer = SelfAttention::find(&all, "layer", 3).unwrap().causal();
    let weights = MasterWeights::<_, T>::new(&q, super::random(11, &q, &all)).unwrap();
    let given = fitting::<T>(11, &shape, 1);
    let whole = layer.apply(&q, weights.layers(), tensor::<T>(&q, &shape, &given).at()).unwrap();
    let whole = host(&q, &whole);
    let mut cache = KeyValueCache::new(&q, CacheShape { batch: 2, capacity: 5, kv_heads: 3, dim: 2 }).unwrap();
    for row in 0..5 {
        let of_row = |values: &[f32]| [0, 1].map(|b| values[(b * 5 + row) * 6..][..6].to_vec()).concat();
        let one = tensor::<T>(&q, &[2, 1, 6], &of_row(&given));
        let y = layer.decode(&q, weights.layers(), one.at(), &mut cache).unwrap();
        // Either is within four roundings of the result in f32.
        expect_norm::<T>(&format!("row {row}"), &host(&q, &y), &of_row(&whole), 8.0);
    }
}

#[test]
fn rows_decoded_one_by_one_in_16_bits_are_the_rows_of_one_pass() {
    decodes::<f16>();
    decodes::<bf16>();
}

#[test]
fn gradients_of_parameters_are_added_in_f32() {
    let q = open(Choice::Cpu);
    let specs = [&Embedding::specs("tokens", [2, 1])[..], &Dense::specs("dense", [1, 1])].concat();
    let table = ParameterTable::new(&specs).unwrap();
    let (tokens, dense) = (Embedding::find(&table, "tokens").unwrap(), Dense::find(&table, "dense").unwrap());
    let weights = MasterWeights::<_, bf16>::new(&q, super::random(3, &q, &table)).unwrap();
    let mut gradients = ParameterArena::zeros(&q, &table).unwrap();
    gradients.write(&q, dense.bias(), &[1.0]).unwrap();
    // 299 and 301 are no numbers of bf16, where sums of ones end at 256.
    let ones = tensor::<bf16>(&q, &[299, 1], &[1.0; 299]);
    tokens.backward(&q, &Indices::new(&q, 2, &[1; 299]).unwrap(), ones.at(), &mut gradients).unwrap();
    assert_eq!(gradients.values(&q, tokens.weight()).unwrap(), [0.0, 299.0]);
    let ones = tensor::<bf16>(&q, &[300, 1], &[1.0; 300]);
    let (_, saved) = dense.forward(&q, weights.layers(), TRAINING, ones.at()).unwrap();
    dense.backward(&q, weights.layers(), saved, ones.at(), ones.at(), &mut gradients).unwrap();
    assert_eq!(gradients.values(&q, dense.bias()).unwrap(), [301.0]);
}

/// Compares steps in bf16 along scaled gradients with steps in f32 along the gradients.
///
/// The scale is a power of two, so that both have the same bits.
fn steps_as_in_f32(q: &AnyQueue, table: &Arc<ParameterTable>, config: OptimizerConfig) {
    const SCALE: f32 = 8.0;
    let loss_scale = Some(LossScale { initial: SCALE, ..LossScale::default() });
    let scaled_config = OptimizerConfig { loss_scale, ..config };
    let mut wide = MasterWeights::<_, f32>::new(q, super::random(1, q, table)).unwrap();
    let mut narrow = MasterWeights::<_, bf16>::new(q, super::random(1, q, table)).unwrap();
    let mut optimizers = [config, scaled_config].map(|config| Optimizer::new(q, config, table).unwrap());
    for step in 0..3 {
        let gradients = super::random(10 + step, q, table);
        let mut scaled = ParameterArena::zeros(q, table).unwrap();
        for id in table.ids() {
            let of: Vec<f32> = gradients.values(q, id).unwrap().into_iter().map(|g| SCALE * g).collect();
            scaled.write(q, id, &of).unwrap();
        }
        wide.step(q, &mut optimizers[0], &gradients).unwrap();
        narrow.step(q, &mut optimizers[1], &scaled).unwrap();
    }
    for id in table.ids() {
        let expected = wide.layers().values(q, id).unwrap();
        assert_eq!(narrow.values().values(q, id).unwrap(), expected, "{config:?}");
        let rounded: Vec<bf16> = expected.into_iter().map(bf16::from_f32).collect();
        assert_eq!(narrow.layers().values(q, id).unwrap(), rounded, "{config:?}");
    }
}

#[test]
fn steps_change_the_weights_as_in_f32_and_round_the_copy() {
    let table = ParameterTable::new(&Dense::specs("dense", [7, 5])).unwrap();
    on_each_device(|q| {
        for config in [OptimizerConfig::adam_w(0.1), OptimizerConfig::sgd(0.1, 0.9), OptimizerConfig::sgd(0.1, 0.0)] {
            for clip in [None, Some(0.5)] {
                steps_as_in_f32(q, &table, OptimizerConfig { clip, ..config });
            }
        }
    });
    let q = open(Choice::Cpu);
    let layer = Dense::find(&table, "dense").unwrap();
    let mut great = super::random(1, &q, &table);
    great.write(&q, layer.bias(), &[1e5; 5]).unwrap();
    let refused = MasterWeights::<_, f16>::new(&q, great).map(drop);
    assert!(matches!(refused, Err(NnError::Range { count: 5, .. })), "{refused:?}");
}

/// An op of a tape, the shapes of its operands, and roundings of the value and of the gradients.
type RecordedOp = (&'static str, &'static [&'static [usize]], [f64; 2]);

const OPS: [RecordedOp; 16] = [
    ("matmul", &[&[2, 2, 3], &[3, 4]], [1.0, 1.0]),
    ("matmul of a transpose", &[&[3, 2], &[3, 4]], [1.0, 1.0]),
    ("add", &[&[2, 1], &[4, 1, 3]], [1.0, 1.0]),
    ("sub", &[&[2, 3], &[3]], [1.0, 1.0]),
    ("mul", &[&[2, 3], &[2, 3]], [1.0, 1.0]),
    ("scale", &[&[2, 3]], [1.0, 1.0]),
    ("gelu", &[&[3, 4]], [1.0, 1.0]),
    ("tanh", &[&[3, 4]], [1.0, 3.0]),
    ("softmax", &[&[3, 4]], [1.0, 4.0]),
    ("log_softmax", &[&[3, 4]], [1.0, 3.0]),
    ("sum", &[&[2, 3, 4]], [1.0, 0.0]),
    ("mean", &[&[2, 3, 4]], [1.0, 1.0]),
    ("views", &[&[2, 3, 4]], [0.0, 0.0]),
    ("cross_entropy", &[&[4, 3]], [0.0, 1.0]),
    ("mse", &[&[2, 3], &[2, 3]], [0.0, 1.0]),
    // One factor is in f32, and the other is used twice: a sum of two gradients.
    ("types", &[&[2, 3], &[3]], [0.0, 3.0]),
];

fn record<T: Precision>(
    name: &str,
    tape: &mut Tape<'_, AnyQueue, T>,
    x: &[Var],
    targets: &Tensor<AnyQueue, u32>,
) -> Result<Var, NnError> {
    match name {
        "matmul" => tape.matmul(x[0], x[1]),
        "matmul of a transpose" => {
            let turned = tape.transpose(x[0])?;
            tape.matmul(turned, x[1])
        }
        "add" => tape.add(x[0], x[1]),
        "sub" => tape.sub(x[0], x[1]),
        "mul" => tape.mul(x[0], x[1]),
        "scale" => tape.scale(x[0], -2.7),
        "gelu" => tape.activate(Activation::GeluErf, x[0]),
        "tanh" => tape.activate(Activation::Tanh, x[0]),
        "softmax" => tape.softmax(x[0], 1),
        "log_softmax" => tape.log_softmax(x[0], 1),
        "sum" => tape.sum(x[0], &[0, 2]),
        "mean" => tape.mean(x[0], &[1]),
        "views" => {
            let turned = tape.permute(x[0], &[1, 2, 0])?;
            let turned = tape.reshape(turned, &[6, 4])?;
            tape.narrow(turned, 0, 1..5)
        }
        "cross_entropy" => tape.cross_entropy(x[0], targets.at()),
        "mse" => tape.mse(x[0], x[1]),
        "types" => {
            let wide = tape.widen(x[0])?;
            let product = tape.mul(wide, x[1])?;
            tape.add(product, x[1])
        }
        other => panic!("no op {other}"),
    }
}

/// The value of an op on a tape in `T`, and the gradients of its operands.
///
/// The loss is the sum of the results times weights. All numbers fit `N`.
fn recorded<T: Precision, N: Precision>(choice: Choice, name: &str, shapes: &[&[usize]]) -> (Vec<f32>, Vec<Vec<f32>>) {
    let (q, none) = (open(choice), ParameterTable::new(&[]).unwrap());
    let model = ParameterArena::<_, T>::zeros(&q, &none).unwrap();
    let targets = Tensor::from_values(&q, &[4], &[2u32, 0, 1, 9]).unwrap(); // the last row is ignored
    let xs: Vec<_> =
        (0..).zip(shapes).map(|(site, shape)| tensor::<T>(&q, shape, &fitting::<N>(13, shape, site))).collect();
    let weights = tensor::<T>(&q, &[24], &fitting::<N>(13, &[24], 50));
    let mut tape = Tape::new(&q, &model, TRAINING);
    let vars: Vec<Var> = xs.iter().map(|x| tape.variable(x.at())).collect();
    let y = record(name, &mut tape, &vars, &targets).unwrap();
    let (value, shape) = (tape.values(y).unwrap(), tape.shape(y).unwrap().to_vec());
    let c = tape.input(weights.at());
    let c = tape.narrow(c, 0, 0..value.len()).unwrap();
    let c = tape.reshape(c, &shape).unwrap();
    let product = tape.mul(y, c).unwrap();
    let axes: Vec<usize> = (0..shape.len()).collect();
    let loss = tape.sum(product, &axes).unwrap();
    let gradients = tape.backward(loss, &mut ParameterArena::zeros(&q, &none).unwrap()).unwrap();
    (value, vars.iter().map(|&var| host(&q, gradients.of(var).unwrap())).collect())
}

fn ops<T: Precision>() {
    for (name, shapes, [forward, backward]) in OPS {
        let (expected, expected_gradients) = recorded::<f32, T>(Choice::Cpu, name, shapes);
        for choice in [Choice::Cpu, Choice::Sim] {
            let (value, gradients) = recorded::<T, T>(choice, name, shapes);
            expect_norm::<T>(name, &value, &expected, forward);
            for (got, expected) in gradients.iter().zip(&expected_gradients) {
                expect_norm::<T>(&format!("{name}, gradient"), got, expected, backward);
            }
        }
    }
}

#[test]
fn recorded_ops_in_16_bits_are_those_in_f32_within_their_roundings() {
    ops::<f16>();
    ops::<bf16>();
}

#[test]
fn losses_are_in_f32_and_other_values_in_the_type_of_the_tape() {
    on_each_device(|q| {
        let model = ParameterArena::<_, bf16>::zeros(q, &ParameterTable::new(&[]).unwrap()).unwrap();
        let (a, b) = (tensor::<bf16>(q, &[1], &[256.0]), tensor::<bf16>(q, &[1], &[1.0]));
        let mut tape = Tape::new(q, &model, Mode::Inference);
        let (a, b) = (tape.input(a.at()), tape.input(b.at()));
        // 257 and its square are no numbers of bf16.
        let rounded = tape.add(a, b).unwrap();
        let wide = tape.widen(a).unwrap();
        let sum = tape.add(wide, b).unwrap();
        assert_eq!((tape.values(rounded).unwrap(), tape.values(sum).unwrap()), (vec![256.0], vec![257.0]));
        let minus = tape.scale(b, -1.0).unwrap();
        let square = tape.mse(a, minus).unwrap();
        assert_eq!(tape.values(square).unwrap(), [66_049.0]);
        // A layer takes a wide value too, rounded.
        let same = tape.layer(Activation::Identity, sum).unwrap();
        assert_eq!(tape.values(same).unwrap(), [256.0]);
    });
}

/// The gradient of a broadcast factor of a product on a tape in bf16, whose loss adds all results.
///
/// All elements are 1, and `x` is a view of `shape` with its axes in the order `axes`.
fn of_broadcast_factor(q: &AnyQueue, factor: &[usize], shape: &[usize], axes: &[usize], is_lhs: bool) -> Vec<f32> {
    let none = ParameterTable::new(&[]).unwrap();
    let model = ParameterArena::<_, bf16>::zeros(q, &none).unwrap();
    let ones = |shape: &[usize]| tensor::<bf16>(q, shape, &vec![1.0; shape.iter().product()]);
    let (w, x) = (ones(factor), ones(shape));
    let mut tape = Tape::new(q, &model, TRAINING);
    let (w, x) = (tape.variable(w.at()), tape.input(x.at().permuted(axes).unwrap()));
    let y = if is_lhs { tape.matmul(w, x) } else { tape.matmul(x, w) }.unwrap();
    let all: Vec<usize> = (0..shape.len()).collect();
    let loss = tape.sum(y, &all).unwrap();
    let gradients = tape.backward(loss, &mut ParameterArena::zeros(q, &none).unwrap()).unwrap();
    host(q, gradients.of(w).unwrap())
}

#[test]
fn gradients_of_broadcast_factors_are_summed_in_f32() {
    // Sums of ones end at 256 in bf16, if they are rounded on the way; 300 is a number of bf16.
    on_each_device(|q| {
        for is_lhs in [false, true] {
            let of = |factor, shape, axes| of_broadcast_factor(q, factor, shape, axes, is_lhs);
            assert_eq!(of(&[2, 1, 1], &[300, 2, 1, 1], &[0, 1, 2, 3]), [300.0; 2]);
            assert_eq!(of(&[3, 1, 1, 1], &[20, 3, 15, 1, 1], &[0, 1, 2, 3, 4]), [300.0; 3]);
            // Heads that lie within rows: [batch, rows, heads, width] as [batch, heads, rows, width].
            assert_eq!(of(&[2, 2], &[75, 2, 2, 2], &[0, 2, 1, 3]), [300.0; 4]);
        }
    });
}

#[test]
fn uses_of_a_parameter_on_a_tape_add_their_gradients_in_f32() {
    let table = ParameterTable::new(&[ParameterSpec::new("w", &[1])]).unwrap();
    let id = table.id("w").unwrap();
    on_each_device(|q| {
        let weights = MasterWeights::<_, bf16>::new(q, super::random(3, q, &table)).unwrap();
        // 299 is no number of bf16.
        for (subtracted, expected) in [(0, 300.0), (1, 299.0)] {
            let mut gradients = ParameterArena::zeros(q, &table).unwrap();
            let mut tape = Tape::new(q, weights.layers(), TRAINING);
            let w = tape.parameter(id).unwrap();
            let mut loss = w;
            for _ in 1..300 {
                loss = tape.add(loss, w).unwrap();
            }
            for _ in 0..subtracted {
                loss = tape.sub(loss, w).unwrap();
            }
            tape.backward(loss, &mut gradients).unwrap();
            assert_eq!(gradients.values(q, id).unwrap(), [expected]);
        }
    });
}

#[test]
fn a_squared_error_in_16_bits_has_the_bits_of_widened_operands_without_their_memory() {
    const COUNT: usize = 1024;
    let (q, none) = (open(Choice::Cpu), ParameterTable::new(&[]).unwrap());
    let model = ParameterArena::<_, bf16>::zeros(&q, &none).unwrap();
    let [x, target] = [1, 2].map(|site| tensor::<bf16>(&q, &[COUNT], &fitting::<bf16>(7, &[COUNT], site)));
    let pass = |widens_first: bool| {
        let mut tape = Tape::new(&q, &model, TRAINING);
        let [x, target] = [tape.variable(x.at()), tape.variable(target.at())];
        let live = q.budget().live_bytes();
        let loss = if widens_first {
            let (x, target) = (tape.widen(x).unwrap(), tape.widen(target).unwrap());
            let difference = tape.sub(x, target).unwrap();
            let square = tape.mul(difference, difference).unwrap();
            tape.mean(square, &[0]).unwrap()
        } else {
            tape.mse(x, target).unwrap()
        };
        let kept = q.budget().live_bytes() - live;
        let value = tape.values(loss).unwrap();
        let gradients = tape.backward(loss, &mut ParameterArena::zeros(&q, &none).unwrap()).unwrap();
        (kept, value, [x, target].map(|var| host(&q, gradients.of(var).unwrap())))
    };
    let (kept, value, gradients) = pass(false);
    let (_, expected, expected_gradients) = pass(true);
    assert_eq!((value, gradients), (expected, expected_gradients));
    // The difference, its square and the mean, in f32; another tensor would be as large as the difference.
    assert!(kept < 3 * size_of::<[f32; COUNT]>() as u64, "{kept} bytes");
}

#[test]
fn a_loss_in_f16_is_widened_before_it_is_reduced_for_a_loss_scale() {
    let none = ParameterTable::new(&[]).unwrap();
    let config = OptimizerConfig { loss_scale: Some(LossScale::default()), ..OptimizerConfig::sgd(0.1, 0.0) };
    on_each_device(|q| {
        let model = ParameterArena::<_, f16>::zeros(q, &none).unwrap();
        let optimizer = Optimizer::new(q, config, &none).unwrap();
        let x = tensor::<f16>(q, &[4], &[1.0; 4]);
        let of_x = |widens_first: bool| {
            let mut tape = Tape::new(q, &model, TRAINING);
            let x = tape.variable(x.at());
            let loss = if widens_first {
                let wide = tape.widen(x).unwrap();
                tape.mean(wide, &[0]).unwrap()
            } else {
                let mean = tape.mean(x, &[0]).unwrap();
                tape.widen(mean).unwrap()
            };
            let gradients = &mut ParameterArena::zeros(q, &none).unwrap();
            host(q, tape.backward_scaled(loss, &optimizer, gradients).unwrap().of(x).unwrap())
        };
        // The scale is 2^16, and the greatest number of f16 is 65504.
        assert_eq!((of_x(true), of_x(false)), (vec![16_384.0; 4], vec![f32::INFINITY; 4]));
    });
}
