//! The tape: gradients against central differences, and refusals.

use std::sync::Arc;

use backend_api::Queue;
use nn_ops::{
    Activation, Dense, Embedding, Gru, GruVariant, Indices, Init, LayerNorm, Mode, NnError, Optimizer, OptimizerConfig,
    ParameterArena, ParameterTable, Parameters, SelfAttention, Tape, Tensor, Var,
};
use runtime::{AnyQueue, Choice};

use super::{Arena, Values, difference, expect_close, tensor};
use crate::common::open as open_on;

type Recorded<'a> = Tape<'a, AnyQueue>;

const TRAINING: Mode = Mode::Training { step: 0 };

fn open() -> AnyQueue {
    open_on(Choice::Cpu)
}

fn drawn(shape: &[usize], site: u32) -> Vec<f32> {
    super::drawn(13, shape, site)
}

fn random(q: &AnyQueue, table: &Arc<ParameterTable>) -> Arena {
    super::random(13, q, table)
}

/// A model without parameters.
fn nothing(q: &AnyQueue) -> Arena {
    ParameterArena::zeros(q, &ParameterTable::new(&[]).unwrap()).unwrap()
}

/// Compares the gradients of an op's operands with central differences.
///
/// The loss is the sum of the results times random weights.
fn expect_gradients(name: &str, shapes: &[&[usize]], op: impl Fn(&mut Recorded<'_>, &[Var]) -> Result<Var, NnError>) {
    let (q, xs) = (open(), (0..).zip(shapes).map(|(site, shape)| drawn(shape, site)).collect::<Vec<_>>());
    let model = nothing(&q);
    // Results for these operands, without gradients.
    let results = |xs: &[Vec<f32>]| {
        let tensors: Vec<Values> = xs.iter().zip(shapes).map(|(x, shape)| tensor(&q, shape, x)).collect();
        let mut tape = Tape::new(&q, &model, Mode::Inference);
        let vars: Vec<Var> = tensors.iter().map(|x| tape.input(x.at())).collect();
        let y = op(&mut tape, &vars).unwrap();
        (tape.shape(y).unwrap().to_vec(), tape.values(y).unwrap())
    };
    let (shape, _) = results(&xs);
    let weights = drawn(&shape, 50);
    let loss = |xs: &[Vec<f32>]| -> f64 {
        results(xs).1.iter().zip(&weights).map(|(&y, &c)| f64::from(y) * f64::from(c)).sum()
    };

    let tensors: Vec<Values> = xs.iter().zip(shapes).map(|(x, shape)| tensor(&q, shape, x)).collect();
    let of_y = tensor(&q, &shape, &weights);
    let mut tape = Tape::new(&q, &model, TRAINING);
    let vars: Vec<Var> = tensors.iter().map(|x| tape.variable(x.at())).collect();
    let y = op(&mut tape, &vars).unwrap();
    let c = tape.input(of_y.at());
    let product = tape.mul(y, c).unwrap();
    let axes: Vec<usize> = (0..shape.len()).collect();
    let sum = tape.sum(product, &axes).unwrap();
    let gradients = tape.backward(sum, &mut nothing(&q)).unwrap();
    for (which, &var) in vars.iter().enumerate() {
        let got = gradients.of(var).unwrap();
        assert_eq!(got.layout().shape(), shapes[which], "{name}");
        for (i, got) in got.values(&q).unwrap().into_iter().enumerate() {
            let expected = difference(&xs[which], i, |x| {
                let mut moved = xs.clone();
                moved[which] = x.to_vec();
                loss(&moved)
            });
            expect_close(&format!("{name}, operand {which}[{i}]"), got, expected);
        }
    }
}

#[test]
fn gradients_of_products_are_central_differences() {
    let cases: [[&[usize]; 2]; 5] = [
        [&[2, 3], &[3, 4]],
        [&[2, 2, 3], &[3, 4]],
        [&[2, 3], &[2, 3, 4]],
        [&[2, 1, 2, 3], &[3, 3, 2]],
        [&[1, 3], &[3, 1]],
    ];
    for shapes in cases {
        expect_gradients(&format!("matmul {shapes:?}"), &shapes, |tape, x| tape.matmul(x[0], x[1]));
    }
    expect_gradients("matmul of transposes", &[&[3, 2], &[4, 3]], |tape, x| {
        let (a, b) = (tape.transpose(x[0])?, tape.transpose(x[1])?);
        tape.matmul(a, b)
    });
    // Neither rows nor columns of the first factor are contiguous: it is copied.
    expect_gradients("matmul of a copy", &[&[2, 3, 2], &[2, 3]], |tape, x| {
        let a = tape.permute(x[0], &[2, 1, 0])?;
        tape.matmul(a, x[1])
    });
    expect_gradients("a matrix times its transpose", &[&[3, 2]], |tape, x| {
        let turned = tape.transpose(x[0])?;
        tape.matmul(x[0], turned)
    });
}

#[test]
fn gradients_of_elements_are_central_differences() {
    let cases: [[&[usize]; 2]; 5] =
        [[&[2, 3], &[2, 3]], [&[2, 3], &[3]], [&[2, 1], &[4, 1, 3]], [&[], &[2, 2]], [&[1, 3], &[3]]];
    for shapes in cases {
        expect_gradients(&format!("add {shapes:?}"), &shapes, |tape, x| tape.add(x[0], x[1]));
        expect_gradients(&format!("sub {shapes:?}"), &shapes, |tape, x| tape.sub(x[0], x[1]));
        expect_gradients(&format!("mul {shapes:?}"), &shapes, |tape, x| tape.mul(x[0], x[1]));
    }
    expect_gradients("scale", &[&[2, 3]], |tape, x| tape.scale(x[0], -2.5));
    for f in Activation::ALL.into_iter().filter(|&f| f != Activation::Relu) {
        expect_gradients(f.name(), &[&[3, 4]], |tape, x| tape.activate(f, x[0]));
    }
    // ReLU on either side of its kink, which a difference of squares does not cross.
    for sign in [1.0, -1.0] {
        let square = |tape: &mut Recorded<'_>, x: &[Var]| {
            let square = tape.mul(x[0], x[0])?;
            tape.scale(square, sign)
        };
        expect_gradients("relu", &[&[3, 4]], |tape, x| {
            let square = square(tape, x)?;
            tape.activate(Activation::Relu, square)
        });
        expect_gradients("a layer of relu", &[&[3, 4]], |tape, x| {
            let square = square(tape, x)?;
            tape.layer(Activation::Relu, square)
        });
    }
    for axis in 0..3 {
        expect_gradients(&format!("softmax {axis}"), &[&[2, 3, 4]], |tape, x| tape.softmax(x[0], axis));
        expect_gradients(&format!("log_softmax {axis}"), &[&[2, 3, 4]], |tape, x| tape.log_softmax(x[0], axis));
    }
    // An op on elements in another order.
    expect_gradients("tanh of a transpose", &[&[3, 4]], |tape, x| {
        let turned = tape.transpose(x[0])?;
        tape.activate(Activation::Tanh, turned)
    });
}

#[test]
fn gradients_of_views_and_reductions_are_central_differences() {
    let shape: &[&[usize]] = &[&[2, 3, 4]];
    expect_gradients("reshape", shape, |tape, x| tape.reshape(x[0], &[4, 6]));
    expect_gradients("permute", shape, |tape, x| tape.permute(x[0], &[2, 0, 1]));
    expect_gradients("reshape of a permutation", shape, |tape, x| {
        let turned = tape.permute(x[0], &[1, 2, 0])?;
        tape.reshape(turned, &[6, 4])
    });
    for (axis, range) in [(0, 1..2), (1, 0..2), (2, 1..4)] {
        expect_gradients(&format!("narrow {axis}"), shape, |tape, x| tape.narrow(x[0], axis, range.clone()));
    }
    expect_gradients("a part of a part", shape, |tape, x| {
        let part = tape.narrow(x[0], 1, 1..3)?;
        let turned = tape.permute(part, &[2, 1, 0])?;
        tape.narrow(turned, 0, 2..4)
    });
    let choices: [&[usize]; 5] = [&[], &[0], &[2, 0], &[1], &[0, 1, 2]];
    for axes in choices {
        expect_gradients(&format!("sum {axes:?}"), shape, |tape, x| tape.sum(x[0], axes));
        expect_gradients(&format!("mean {axes:?}"), shape, |tape, x| tape.mean(x[0], axes));
    }
}

#[test]
fn gradients_of_losses_are_central_differences() {
    let q = open();
    let targets = Tensor::from_values(&q, &[4], &[2u32, 0, 1, 9]).unwrap(); // the last row is ignored
    expect_gradients("cross_entropy", &[&[4, 3]], |tape, x| tape.cross_entropy(x[0], targets.at()));
    expect_gradients("scaled cross_entropy", &[&[4, 3]], |tape, x| {
        let loss = tape.cross_entropy(x[0], targets.at())?;
        tape.scale(loss, 3.0)
    });
    expect_gradients("mse", &[&[2, 3], &[2, 3]], |tape, x| tape.mse(x[0], x[1]));
}

#[test]
fn values_with_several_uses_get_the_sum_of_the_gradients() {
    expect_gradients("x^3 + 2 x", &[&[2, 3]], |tape, x| {
        let square = tape.mul(x[0], x[0])?;
        let cube = tape.mul(square, x[0])?;
        let twice = tape.add(x[0], x[0])?;
        tape.add(cube, twice)
    });
    // The gradient of a term is added to the gradient of a later use, or summed before.
    let cases: [[&[usize]; 2]; 3] = [[&[2, 3], &[2, 3]], [&[2, 3], &[3]], [&[1, 3], &[3]]];
    for shapes in cases {
        expect_gradients(&format!("(a + b) b {shapes:?}"), &shapes, |tape, x| {
            let sum = tape.add(x[0], x[1])?;
            tape.mul(sum, x[1])
        });
        expect_gradients(&format!("(a - b) b {shapes:?}"), &shapes, |tape, x| {
            let difference = tape.sub(x[0], x[1])?;
            tape.mul(difference, x[1])
        });
    }
    expect_gradients("x - x", &[&[2, 3]], |tape, x| tape.sub(x[0], x[0]));
    expect_gradients("a value that nothing else uses", &[&[2, 3]], |tape, x| {
        tape.mul(x[0], x[0])?;
        tape.scale(x[0], 2.0)
    });
}

#[test]
fn sums_with_a_constant_pass_their_gradient_to_the_other_term() {
    let q = open();
    let model = nothing(&q);
    let (c, weights) = (tensor(&q, &[2, 2], &[1.0; 4]), tensor(&q, &[2, 2], &[3.0, 5.0, 7.0, 11.0]));
    let cases: [(&[usize], &[f32]); 2] = [(&[2, 2], &[3.0, 5.0, 7.0, 11.0]), (&[2], &[10.0, 16.0])];
    for (shape, expected) in cases {
        let x = tensor(&q, shape, &vec![0.5; expected.len()]);
        for sign in [1.0, -1.0] {
            let mut tape = Tape::new(&q, &model, TRAINING);
            let (constant, var, by) = (tape.input(c.at()), tape.variable(x.at()), tape.input(weights.at()));
            let sum = if sign == 1.0 { tape.add(constant, var) } else { tape.sub(constant, var) }.unwrap();
            let product = tape.mul(sum, by).unwrap();
            let loss = tape.sum(product, &[0, 1]).unwrap();
            let gradients = tape.backward(loss, &mut nothing(&q)).unwrap();
            let expected: Vec<f32> = expected.iter().map(|gradient| sign * gradient).collect();
            assert_eq!(gradients.of(var).unwrap().values(&q).unwrap(), expected, "{shape:?}, {sign}");
        }
    }
}

#[test]
fn detached_values_pass_no_gradient() {
    let q = open();
    let model = nothing(&q);
    let x = tensor(&q, &[2], &[3.0, 5.0]);
    let mut tape = Tape::new(&q, &model, TRAINING);
    let var = tape.variable(x.at());
    let constant = tape.detach(var).unwrap();
    let product = tape.mul(var, constant).unwrap();
    let loss = tape.sum(product, &[0]).unwrap();
    assert_eq!(tape.values(loss).unwrap(), [34.0]);
    let gradients = tape.backward(loss, &mut nothing(&q)).unwrap();
    assert_eq!(gradients.of(var).unwrap().values(&q).unwrap(), [3.0, 5.0]);
    assert!(gradients.of(constant).is_none());
}

/// A model of all kinds of parameters, whose table of tokens is also the weights of its head.
struct Model {
    tokens: Embedding,
    norm: LayerNorm,
    attention: SelfAttention,
    dense: Dense,
}

impl Model {
    fn table() -> Arc<ParameterTable> {
        let specs = [
            &Embedding::specs("tokens", [5, 4])[..],
            &LayerNorm::specs("norm", 4),
            &SelfAttention::specs("attention", 4),
            &Dense::specs("dense", [4, 4]),
        ];
        ParameterTable::new(&specs.concat()).unwrap()
    }

    fn find(table: &ParameterTable) -> Self {
        Self {
            tokens: Embedding::find(table, "tokens").unwrap(),
            norm: LayerNorm::find(table, "norm", 1e-2).unwrap(),
            attention: SelfAttention::find(table, "attention", 2).unwrap().causal(),
            dense: Dense::find(table, "dense").unwrap(),
        }
    }

    /// Two sequences of three tokens, and the tokens that follow.
    fn batch(q: &AnyQueue) -> (Indices<AnyQueue>, Tensor<AnyQueue, u32>) {
        let targets = Tensor::from_values(q, &[6], &[3u32, 1, 2, 4, 2, 0]).unwrap();
        (Indices::new(q, 5, &[0, 3, 1, 4, 4, 2]).unwrap(), targets)
    }

    /// The mean loss of two sequences of three tokens. The dense layer is used twice.
    fn loss<'a>(
        &self,
        tape: &mut Recorded<'a>,
        text: &'a Indices<AnyQueue>,
        targets: &Tensor<AnyQueue, u32>,
    ) -> Result<Var, NnError> {
        let x = tape.embedding(&self.tokens, text)?;
        let x = tape.reshape(x, &[2, 3, 4])?;
        let normed = tape.layer(self.norm, x)?;
        let mixed = tape.layer(self.attention, normed)?;
        let x = tape.add(x, mixed)?;
        let x = tape.layer(self.dense, x)?;
        let x = tape.activate(Activation::GeluTanh, x)?;
        let x = tape.layer(self.dense, x)?;
        let x = tape.reshape(x, &[6, 4])?;
        let head = tape.parameter(self.tokens.weight())?;
        let head = tape.transpose(head)?;
        let logits = tape.matmul(x, head)?;
        tape.cross_entropy(logits, targets.at())
    }
}

#[test]
fn gradients_of_a_model_are_central_differences_also_of_parameters_used_twice() {
    let (q, table) = (open(), Model::table());
    let (model, mut values) = (Model::find(&table), random(&q, &table));
    let (text, targets) = Model::batch(&q);
    let loss = |values: &Arena| {
        let mut tape = Tape::new(&q, values, Mode::Inference);
        let loss = model.loss(&mut tape, &text, &targets).unwrap();
        f64::from(tape.values(loss).unwrap()[0])
    };
    let mut gradients = ParameterArena::zeros(&q, &table).unwrap();
    // Two passes: gradients are added.
    for _ in 0..2 {
        let mut tape = Tape::new(&q, &values, TRAINING);
        let var = model.loss(&mut tape, &text, &targets).unwrap();
        tape.backward(var, &mut gradients).unwrap();
    }
    for id in table.ids() {
        let own = values.values(&q, id).unwrap();
        for (i, got) in gradients.values(&q, id).unwrap().into_iter().enumerate() {
            let expected = difference(&own, i, |moved| {
                values.write(&q, id, moved).unwrap();
                loss(&values)
            });
            expect_close(&format!("{}[{i}]", table.name(id).unwrap()), got / 2.0, expected);
        }
        values.write(&q, id, &own).unwrap();
    }
}

/// The loss of the model and all its gradients on a device.
fn pass(choice: Choice) -> (f32, Vec<f32>) {
    let (q, table) = (open_on(choice), Model::table());
    let (model, values) = (Model::find(&table), random(&q, &table));
    let (text, targets) = Model::batch(&q);
    let mut gradients = ParameterArena::zeros(&q, &table).unwrap();
    let mut tape = Tape::new(&q, &values, TRAINING);
    let var = model.loss(&mut tape, &text, &targets).unwrap();
    let loss = tape.values(var).unwrap()[0];
    tape.backward(var, &mut gradients).unwrap();
    (loss, q.read(gradients.view()).unwrap())
}

#[test]
fn a_device_has_the_loss_and_the_gradients_of_the_processor() {
    let ((loss, gradients), (expected_loss, expected)) = (pass(Choice::Sim), pass(Choice::Cpu));
    assert!((loss - expected_loss).abs() < 1e-5 * expected_loss, "{loss} {expected_loss}");
    for (i, (got, expected)) in gradients.into_iter().zip(expected).enumerate() {
        assert!((got - expected).abs() < 5e-5 * (1.0 + expected.abs()), "element {i}: {got} instead of {expected}");
    }
}

#[test]
fn a_tape_keeps_no_memory_of_a_step() {
    let (q, table) = (open(), Model::table());
    let (model, values) = (Model::find(&table), random(&q, &table));
    let (text, targets) = Model::batch(&q);
    let mut gradients = ParameterArena::zeros(&q, &table).unwrap();
    let mut step = || {
        let mut tape = Tape::new(&q, &values, TRAINING);
        let var = model.loss(&mut tape, &text, &targets).unwrap();
        tape.backward(var, &mut gradients).unwrap();
        q.budget().live_bytes()
    };
    let (first, second) = (step(), step());
    assert_eq!(first, second);
}

#[test]
fn losses_that_have_no_gradient_are_refused() {
    let (q, table) = (open(), Model::table());
    let values = random(&q, &table);
    let x = tensor(&q, &[2], &[1.0, 2.0]);
    let refused = |mode: Mode, record: &dyn Fn(&mut Recorded<'_>, Var) -> Var, gradients: &Arc<ParameterTable>| {
        let mut tape = Tape::new(&q, &values, mode);
        let var = tape.variable(x.at());
        let loss = record(&mut tape, var);
        let mut into = ParameterArena::zeros(&q, gradients).unwrap();
        tape.backward(loss, &mut into).map(drop).unwrap_err().to_string()
    };
    let sum = |tape: &mut Recorded<'_>, x: Var| tape.sum(x, &[0]).unwrap();
    let constant = |tape: &mut Recorded<'_>, x: Var| {
        let x = tape.detach(x).unwrap();
        tape.sum(x, &[0]).unwrap()
    };
    let many = refused(TRAINING, &|_, x| x, &table);
    assert_eq!(many, "`tape_backward` expected a loss of 1 elements, got 2");
    let mode = refused(Mode::Inference, &sum, &table);
    assert_eq!(mode, "`tape_backward` cannot compute gradients: the tape is in inference mode");
    let on_nothing = refused(TRAINING, &constant, &table);
    assert!(on_nothing.ends_with("the loss depends on no parameter and no variable"), "{on_nothing}");
    let other = refused(TRAINING, &sum, &ParameterTable::new(&[]).unwrap());
    assert_eq!(other, "`tape_backward` expected the parameter table of this plan, got the parameter table of another");
}

#[test]
fn variables_of_another_tape_and_shapes_that_do_not_fit_are_refused() {
    let q = open();
    let model = nothing(&q);
    let x = tensor(&q, &[2, 3], &[0.0; 6]);
    let (mut first, mut second) = (Tape::new(&q, &model, TRAINING), Tape::new(&q, &model, TRAINING));
    let (a, b) = (first.variable(x.at()), second.variable(x.at()));
    let other = Some(NnError::OtherTape { op: "tape" });
    assert_eq!(first.add(a, b).err(), other);
    assert_eq!(first.values(b).err(), other);
    assert_eq!(first.layer(Activation::Tanh, b).err(), other);
    let sum = first.sum(a, &[0, 1]).unwrap();
    let gradients = first.backward(sum, &mut nothing(&q)).unwrap();
    assert!(gradients.of(a).is_some() && gradients.of(b).is_none());

    let turned = second.transpose(b).unwrap();
    let message = |made: Result<Var, NnError>| made.unwrap_err().to_string();
    assert_eq!(message(second.matmul(b, b)), "`matmul` expected b of shape [3, 3], got [2, 3]");
    assert_eq!(message(second.add(b, turned)), "`binary` cannot broadcast shapes [2, 3] and [3, 2]");
    assert_eq!(message(second.mse(b, turned)), "`mse` expected target of shape [2, 3], got [3, 2]");
    assert_eq!(message(second.reshape(b, &[5])), "`reshape` expected a shape of 6 elements, got 5");
    assert_eq!(message(second.narrow(b, 0, 1..3)), "`narrow` expected a slice of an axis of length 2, got 1..3");
    assert_eq!(message(second.softmax(b, 2)), "`softmax` expected an axis below 2, got 2");
}

/// Sequences `[10, 64, 8]`, and their classes.
///
/// The first step shows the class; the other steps are noise.
fn sequences(q: &AnyQueue) -> (Values, Tensor<AnyQueue, u32>) {
    let mut x = Init::Uniform { low: -1.0, high: 1.0 }.values(&[10, 64, 8], 7, 0).unwrap();
    let y: Vec<u32> = (0..64).map(|row| row * 5 % 4).collect();
    for (features, &class) in x.chunks_exact_mut(8).zip(&y) {
        (0..4).for_each(|feature| features[feature] = if feature == class as usize { 1.0 } else { 0.0 });
    }
    x[64 * 8..].chunks_exact_mut(8).for_each(|features| features[..4].fill(0.0));
    (tensor(q, &[10, 64, 8], &x), Tensor::from_values(q, &[64], &y).unwrap())
}

#[test]
fn a_recurrent_unit_and_its_head_learn_to_recall_under_one_optimizer() {
    let q = open();
    let (x, y) = sequences(&q);
    let specs = [&Gru::specs("unit", [8, 32], GruVariant::ResetBefore)[..], &Dense::specs("head", [32, 4])].concat();
    let table = ParameterTable::new(&specs).unwrap();
    let (unit, head) = (Gru::find(&table, "unit").unwrap(), Dense::find(&table, "head").unwrap());
    let (mut values, mut gradients) =
        (ParameterArena::zeros(&q, &table).unwrap(), ParameterArena::zeros(&q, &table).unwrap());
    unit.initialize(&q, &mut values, 1).unwrap();
    head.initialize(&q, &mut values, 2).unwrap();
    let mut optimizer = Optimizer::new(&q, OptimizerConfig::adam_w(0.02), &table).unwrap();
    let mut losses = Vec::new();
    for step in 0..100 {
        let mut tape = Tape::new(&q, &values, Mode::Training { step });
        let input = tape.input(x.at());
        let states = tape.layer(unit, input).unwrap();
        let last = tape.narrow(states, 0, 9..10).unwrap();
        let last = tape.reshape(last, &[64, 32]).unwrap();
        let logits = tape.layer(head, last).unwrap();
        let loss = tape.cross_entropy(logits, y.at()).unwrap();
        losses.push(tape.values(loss).unwrap()[0]);
        q.clear(gradients.view_mut()).unwrap();
        tape.backward(loss, &mut gradients).unwrap();
        optimizer.step(&q, gradients.view(), values.view_mut(), None).unwrap();
    }
    let (first, last) = (losses[0], losses[99]);
    assert!((first - 4f32.ln()).abs() < 0.3 && last < 0.05, "{first} {last}");
}
