//! A transformer of two blocks in 16 bits: passes, trainings, overflow, and resumed runs.

use std::sync::Arc;

use backend_api::Queue;
use half::{bf16, f16};
use nn_ops::{
    Activation, AnyLayer, Dense, Embedding, Indices, LayerNorm, LossScale, MasterWeights, Mode, NnError, Optimizer,
    OptimizerConfig, ParameterArena, ParameterId, ParameterSpec, ParameterTable, Parameters, Precision, SelfAttention,
    Sequential, Start, StepState, Tape, Tensor, Var, io::Checkpoint,
};
use runtime::{AnyQueue, Choice, Settings};

use super::{
    Arena,
    precision::{expect_norm, unit},
};
use crate::common::open;

const TOKENS: usize = 11;
const WIDTH: usize = 16;
const WINDOWS: usize = 4;
const LEN: usize = 6;
const STEPS: u32 = 60;

/// Roundings of an activation on its way to the loss.
///
/// The sum of both embeddings; in each of two blocks two norms, queries, keys and values, weights,
/// their products with values, the output, two layers, an activation and two sums; the last norm
/// and the logits. The way back has one for each.
const ROUNDINGS: f64 = 1.0 + 2.0 * 11.0 + 2.0;

struct Block {
    norm: LayerNorm,
    attention: SelfAttention,
    mlp: Sequential,
}

/// A pre-norm transformer whose table of tokens is also the weights of its head.
struct TiedTransformer {
    tokens: Embedding,
    places: ParameterId,
    blocks: [Block; 2],
    norm: LayerNorm,
}

impl Parameters for TiedTransformer {
    fn visit(&self, visitor: &mut dyn FnMut(ParameterId, Start)) {
        self.tokens.visit(visitor);
        visitor(self.places, Start::Zeros);
        for Block { norm, attention, mlp } in &self.blocks {
            norm.visit(visitor);
            attention.visit(visitor);
            mlp.visit(visitor);
        }
        self.norm.visit(visitor);
    }
}

impl TiedTransformer {
    fn table() -> Arc<ParameterTable> {
        let mut specs = Vec::from(Embedding::specs("tokens", [TOKENS, WIDTH]));
        specs.push(ParameterSpec::new("places", &[LEN, WIDTH]));
        for block in ["a", "b"] {
            specs.extend(LayerNorm::specs(&format!("{block}.norm"), WIDTH));
            specs.extend(SelfAttention::specs(&format!("{block}.attention"), WIDTH));
            specs.extend(LayerNorm::specs(&format!("{block}.mlp_norm"), WIDTH));
            specs.extend(Dense::specs(&format!("{block}.in"), [WIDTH, 2 * WIDTH]));
            specs.extend(Dense::specs(&format!("{block}.out"), [2 * WIDTH, WIDTH]));
        }
        specs.extend(LayerNorm::specs("norm", WIDTH));
        ParameterTable::new(&specs).unwrap()
    }

    fn find(table: &ParameterTable) -> Self {
        let norm = |name: String| LayerNorm::find(table, &name, 1e-5).unwrap();
        let dense = |name: String| Dense::find(table, &name).unwrap();
        let block = |name: &str| {
            let mlp: [AnyLayer; 4] = [
                norm(format!("{name}.mlp_norm")).into(),
                dense(format!("{name}.in")).into(),
                Activation::GeluTanh.into(),
                dense(format!("{name}.out")).into(),
            ];
            Block {
                norm: norm(format!("{name}.norm")),
                attention: SelfAttention::find(table, &format!("{name}.attention"), 2).unwrap().causal(),
                mlp: Sequential::new(mlp),
            }
        };
        Self {
            tokens: Embedding::find(table, "tokens").unwrap(),
            places: table.id("places").unwrap(),
            blocks: ["a", "b"].map(block),
            norm: norm("norm".to_owned()),
        }
    }

    /// Windows of a walk over the tokens, and the token after each. Every third step is another.
    fn batch(q: &AnyQueue) -> (Indices<AnyQueue>, Tensor<AnyQueue, u32>) {
        let walk: Vec<u32> = (0..(WINDOWS * LEN + 1) as u32).map(|i| (i * 4 + i / 3) % TOKENS as u32).collect();
        let inputs = Indices::new(q, TOKENS, &walk[..WINDOWS * LEN]).unwrap();
        (inputs, Tensor::from_values(q, &[WINDOWS * LEN], &walk[1..]).unwrap())
    }

    /// The logits of all rows, `[rows, classes]`.
    fn logits<'a, T: Precision>(
        &self,
        tape: &mut Tape<'a, AnyQueue, T>,
        inputs: &'a Indices<AnyQueue>,
    ) -> Result<Var, NnError> {
        let x = tape.embedding(&self.tokens, inputs)?;
        let x = tape.reshape(x, &[WINDOWS, LEN, WIDTH])?;
        let places = tape.parameter(self.places)?;
        let mut x = tape.add(x, places)?;
        for Block { norm, attention, mlp } in &self.blocks {
            let branch = tape.layer(*norm, x)?;
            let branch = tape.layer(*attention, branch)?;
            x = tape.add(x, branch)?;
            let branch = tape.sequence(mlp, x)?;
            x = tape.add(x, branch)?;
        }
        let x = tape.layer(self.norm, x)?;
        let x = tape.reshape(x, &[WINDOWS * LEN, WIDTH])?;
        let head = tape.parameter(self.tokens.weight())?;
        let head = tape.transpose(head)?;
        tape.matmul(x, head)
    }

    fn loss<'a, T: Precision>(
        &self,
        tape: &mut Tape<'a, AnyQueue, T>,
        inputs: &'a Indices<AnyQueue>,
        targets: &Tensor<AnyQueue, u32>,
    ) -> Result<Var, NnError> {
        let logits = self.logits(tape, inputs)?;
        tape.cross_entropy(logits, targets.at())
    }
}

/// Random weights near the initial values, representable in `N`.
fn weights<N: Precision>(q: &AnyQueue, model: &TiedTransformer, table: &Arc<ParameterTable>) -> Arena {
    let mut values = ParameterArena::zeros(q, table).unwrap();
    model.initialize(q, &mut values, 5).unwrap();
    let noise = super::random(9, q, table);
    for id in table.ids() {
        let (start, noise) = (values.values(q, id).unwrap(), noise.values(q, id).unwrap());
        let all: Vec<f32> = start.iter().zip(noise).map(|(x, noise)| N::from_f32(x + 0.2 * noise).to_f32()).collect();
        values.write(q, id, &all).unwrap();
    }
    values
}

/// The loss of a pass of the model, its logits, and the gradients by the names of parameters.
struct ModelPass {
    loss: f32,
    logits: Vec<f32>,
    gradients: Vec<(String, Vec<f32>)>,
}

/// A pass of the model from weights representable in `N`.
fn pass<T: Precision, N: Precision>(choice: Choice) -> ModelPass {
    let (q, table) = (open(choice), TiedTransformer::table());
    let model = TiedTransformer::find(&table);
    let weights = MasterWeights::<_, T>::new(&q, weights::<N>(&q, &model, &table)).unwrap();
    let (inputs, targets) = TiedTransformer::batch(&q);
    let mut gradients = ParameterArena::zeros(&q, &table).unwrap();
    let mut tape = Tape::new(&q, weights.layers(), Mode::Training { step: 0 });
    let logits = model.logits(&mut tape, &inputs).unwrap();
    let loss = tape.cross_entropy(logits, targets.at()).unwrap();
    let (value, logits) = (tape.values(loss).unwrap()[0], tape.values(logits).unwrap());
    tape.backward(loss, &mut gradients).unwrap();
    let of = |id| (table.name(id).unwrap().to_owned(), gradients.values(&q, id).unwrap());
    ModelPass { loss: value, logits, gradients: table.ids().map(of).collect() }
}

fn expect_pass<T: Precision>(choice: Choice) {
    let (got, expected) = (pass::<T, T>(choice), pass::<f32, T>(Choice::Cpu));
    // Roundings change no logit by more than they would change the greatest one, and the loss of a row by at most
    // twice as much. Rows are rounded independently: the change of their mean is smaller by the root of their number.
    let greatest = expected.logits.iter().fold(0f32, |most, logit| most.max(logit.abs()));
    let roundings = 2.0 * (ROUNDINGS / (WINDOWS * LEN) as f64).sqrt();
    let bound = roundings * unit::<T>() * f64::from(greatest);
    let error = f64::from((got.loss - expected.loss).abs());
    assert!(error <= bound, "{}: loss {} instead of {}", T::DTYPE, got.loss, expected.loss);
    for ((name, got), (_, expected)) in got.gradients.iter().zip(&expected.gradients) {
        expect_norm::<T>(name, got, expected, (2.0 * ROUNDINGS).sqrt());
    }
}

#[test]
fn a_transformer_in_16_bits_has_the_loss_and_gradients_in_f32_within_its_roundings() {
    expect_pass::<f16>(Choice::Cpu);
    expect_pass::<bf16>(Choice::Cpu);
}

#[test]
fn a_transformer_in_16_bits_on_a_device_has_the_loss_and_gradients_in_f32_within_its_roundings() {
    expect_pass::<f16>(Choice::Sim);
    expect_pass::<bf16>(Choice::Sim);
}

/// The end of a training: all losses, the checkpoint, and the record of its steps.
#[derive(Debug, PartialEq)]
struct Trained {
    losses: Vec<u32>,
    checkpoint: Checkpoint,
    state: StepState,
}

impl Trained {
    fn loss(&self, step: usize) -> f32 {
        f32::from_bits(self.losses[step])
    }

    fn last(&self) -> f32 {
        self.loss(STEPS as usize - 1)
    }
}

/// Trains the model, with a stop before each of `stops`, from which nothing survives but bytes.
fn trained<T: Precision>(loss_scale: Option<LossScale>, threads: usize, stops: &[u32]) -> Trained {
    let settings = Settings { threads: threads.try_into().ok(), ..Settings::default() };
    let (q, _) = runtime::open_with(&settings, None, None).unwrap();
    let table = TiedTransformer::table();
    let model = TiedTransformer::find(&table);
    let config = OptimizerConfig { loss_scale, ..OptimizerConfig::adam_w(0.01) };
    let mut optimizer = Optimizer::new(&q, config, &table).unwrap();
    let mut weights = MasterWeights::<_, T>::new(&q, weights::<f32>(&q, &model, &table)).unwrap();
    let ((inputs, targets), mut gradients) = (TiedTransformer::batch(&q), ParameterArena::zeros(&q, &table).unwrap());
    let save = |weights: &MasterWeights<AnyQueue, T>, optimizer: &Optimizer<AnyQueue>| {
        let mut checkpoint = Checkpoint::default();
        weights.values().export(&q, "", &mut checkpoint.tensors).unwrap();
        optimizer.save(&q, &mut checkpoint).unwrap();
        checkpoint
    };
    let mut losses = Vec::new();
    for step in 0..STEPS {
        if stops.contains(&step) {
            let bytes = save(&weights, &optimizer).to_bytes().unwrap();
            let checkpoint = Checkpoint::from_bytes(&bytes).unwrap();
            let mut values = ParameterArena::zeros(&q, &table).unwrap();
            values.import(&q, "", &checkpoint.tensors, table.ids()).unwrap();
            weights = MasterWeights::new(&q, values).unwrap();
            optimizer = Optimizer::resume(&q, &table, &checkpoint).unwrap();
        }
        let mut tape = Tape::new(&q, weights.layers(), Mode::Training { step });
        let loss = model.loss(&mut tape, &inputs, &targets).unwrap();
        losses.push(tape.values(loss).unwrap()[0].to_bits());
        q.clear(gradients.view_mut()).unwrap();
        tape.backward_scaled(loss, &optimizer, &mut gradients).unwrap();
        weights.step(&q, &mut optimizer, &gradients).unwrap();
    }
    Trained { losses, checkpoint: save(&weights, &optimizer), state: optimizer.state(&q).unwrap() }
}

/// A scale beyond the range of f16, so that the first gradients are not finite.
const GREAT: LossScale = LossScale { initial: 16_777_216.0, growth: 2.0, backoff: 0.5, interval: 25 };

/// The loss of a training in 16 bits is within this of one in f32, in nats; both begin above 2.
const MARGIN: f32 = 0.05;

#[test]
fn a_transformer_in_bf16_reaches_the_loss_of_one_in_f32() {
    let (wide, got) = (trained::<f32>(None, 1, &[]), trained::<bf16>(None, 1, &[]));
    assert!(wide.loss(0) > 2.0 && wide.last() < 0.05, "{}", wide.last());
    for step in 0..STEPS as usize {
        let (got, expected) = (got.loss(step), wide.loss(step));
        assert!((got - expected).abs() < MARGIN, "step {step}: {got}, in f32 {expected}");
    }
    // Repeated runs and other numbers of threads have the same bits.
    assert_eq!(trained::<bf16>(None, 1, &[]), got);
    assert_eq!(trained::<bf16>(None, 3, &[]), got);
}

#[test]
fn a_transformer_in_f16_recovers_from_overflow_by_its_loss_scale() {
    let (wide, got) = (trained::<f32>(None, 1, &[]), trained::<f16>(Some(GREAT), 1, &[]));
    let StepState { step, skipped, loss_scale, .. } = got.state;
    assert_eq!(step + skipped, u64::from(STEPS));
    assert!(skipped > 3 && loss_scale < GREAT.initial, "{:?}", got.state);
    // A step that is left out changes no weight: the loss stays.
    assert_eq!(got.losses[..4], [got.losses[0]; 4]);
    // After the same number of steps taken, the loss is that in f32.
    let (got, expected) = (got.last(), wide.loss((u64::from(STEPS) - 1 - skipped) as usize));
    assert!((got - expected).abs() < MARGIN && expected < 0.1, "{got}, in f32 {expected}");
}

#[test]
fn a_training_in_16_bits_that_was_stopped_ends_with_the_same_bits() {
    assert_eq!(trained::<f16>(Some(GREAT), 1, &[2, 3, 30]), trained::<f16>(Some(GREAT), 1, &[]));
    assert_eq!(trained::<bf16>(None, 1, &[0, 41]), trained::<bf16>(None, 1, &[]));
}

#[test]
fn gradients_that_f16_rounds_to_zero_survive_with_a_loss_scale() {
    let (q, table) = (open(Choice::Cpu), ParameterTable::new(&Dense::specs("layer", [2, 2])).unwrap());
    let layer = Dense::find(&table, "layer").unwrap();
    let weights = MasterWeights::<_, f16>::new(&q, ParameterArena::zeros(&q, &table).unwrap()).unwrap();
    let config = OptimizerConfig { loss_scale: Some(LossScale::default()), ..OptimizerConfig::sgd(1.0, 0.0) };
    let optimizer = Optimizer::new(&q, config, &table).unwrap();
    let x = Tensor::from_values(&q, &[1, 2], &[f16::ONE; 2]).unwrap();
    let targets = Tensor::from_values(&q, &[1], &[0u32]).unwrap();
    // A loss times 2^-26 has gradients of +-2^-27; the smallest number of f16 is 2^-24.
    let small = 2f32.powi(-26);
    let of_bias = |scaled: bool| {
        let mut gradients = ParameterArena::zeros(&q, &table).unwrap();
        let mut tape = Tape::new(&q, weights.layers(), Mode::Training { step: 0 });
        let input = tape.input(x.at());
        let logits = tape.layer(layer, input).unwrap();
        let loss = tape.cross_entropy(logits, targets.at()).unwrap();
        let loss = tape.scale(loss, small).unwrap();
        match scaled {
            true => tape.backward_scaled(loss, &optimizer, &mut gradients).unwrap(),
            false => tape.backward(loss, &mut gradients).unwrap(),
        };
        gradients.values(&q, layer.bias()).unwrap()
    };
    assert_eq!(of_bias(false), [0.0; 2]);
    assert_eq!(of_bias(true), [-small * 0.5, small * 0.5].map(|g| g * 65_536.0));
}

#[test]
fn a_tape_in_16_bits_keeps_no_memory_of_a_step() {
    let (q, table) = (open(Choice::Cpu), TiedTransformer::table());
    let model = TiedTransformer::find(&table);
    let mut weights = MasterWeights::<_, bf16>::new(&q, weights::<f32>(&q, &model, &table)).unwrap();
    let mut optimizer = Optimizer::new(&q, OptimizerConfig::adam_w(0.01), &table).unwrap();
    let ((inputs, targets), mut gradients) = (TiedTransformer::batch(&q), ParameterArena::zeros(&q, &table).unwrap());
    let mut step = || {
        let mut tape = Tape::new(&q, weights.layers(), Mode::Training { step: 0 });
        let loss = model.loss(&mut tape, &inputs, &targets).unwrap();
        tape.backward_scaled(loss, &optimizer, &mut gradients).unwrap();
        weights.step(&q, &mut optimizer, &gradients).unwrap();
        q.budget().live_bytes()
    };
    let (first, second) = (step(), step());
    assert_eq!(first, second);
}
