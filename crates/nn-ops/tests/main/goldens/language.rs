//! A pre-norm transformer on the tape, and steps of its training.
//!
//! The model of `trefoil nn text train`, which is private to the program.

use backend_api::Queue;
use nn_ops::{
    Activation, AnyLayer, Dense, Embedding, Indices, LayerNorm, Mode, Optimizer, OptimizerConfig, ParameterArena,
    ParameterId, ParameterSpec, ParameterTable, Rule, SelfAttention, Sequential, Tape, Tensor, Var, WeightDecay,
};
use runtime::AnyQueue;

use super::Goldens;

const BYTES: usize = 256;
/// Places that the model has; windows are shorter.
const CONTEXT: usize = 8;
const WIDTH: usize = 16;
const HEADS: usize = 2;
const BLOCKS: usize = 2;
const WINDOWS: usize = 2;
/// Bytes of a window.
const LEN: usize = 6;
const STEPS: u32 = 3;

struct Block {
    attention_norm: LayerNorm,
    attention: SelfAttention,
    mlp: Sequential,
}

struct LanguageModel {
    bytes: Embedding,
    places: ParameterId,
    blocks: [Block; BLOCKS],
    norm: LayerNorm,
}

impl LanguageModel {
    fn specs() -> Vec<ParameterSpec> {
        let mut specs = Vec::from(Embedding::specs("bytes", [BYTES, WIDTH]));
        specs.push(ParameterSpec::new("places.weight", &[CONTEXT, WIDTH]));
        for block in 0..BLOCKS {
            let name = |layer: &str| format!("blocks.{block}.{layer}");
            specs.extend(LayerNorm::specs(&name("attention_norm"), WIDTH));
            specs.extend(SelfAttention::specs(&name("attention"), WIDTH));
            specs.extend(LayerNorm::specs(&name("mlp_norm"), WIDTH));
            specs.extend(Dense::specs(&name("mlp_in"), [WIDTH, 4 * WIDTH]));
            specs.extend(Dense::specs(&name("mlp_out"), [4 * WIDTH, WIDTH]));
        }
        specs.extend(LayerNorm::specs("norm", WIDTH));
        specs
    }

    fn find(table: &ParameterTable) -> Self {
        let norm = |name: &str| LayerNorm::find(table, name, 1e-5).unwrap();
        let dense = |name: &str| Dense::find(table, name).unwrap();
        let block = |block: usize| {
            let name = |layer: &str| format!("blocks.{block}.{layer}");
            let mlp: [AnyLayer; 4] = [
                norm(&name("mlp_norm")).into(),
                dense(&name("mlp_in")).into(),
                Activation::GeluTanh.into(),
                dense(&name("mlp_out")).into(),
            ];
            Block {
                attention_norm: norm(&name("attention_norm")),
                attention: SelfAttention::find(table, &name("attention"), HEADS).unwrap().causal(),
                mlp: Sequential::new(mlp),
            }
        };
        Self {
            bytes: Embedding::find(table, "bytes").unwrap(),
            places: table.id("places.weight").unwrap(),
            blocks: core::array::from_fn(block),
            norm: norm("norm"),
        }
    }

    /// Records the scores `[WINDOWS LEN, BYTES]` of the byte after each byte.
    fn scores<'a>(&self, tape: &mut Tape<'a, AnyQueue>, bytes: &'a Indices<AnyQueue>) -> Var {
        let x = tape.embedding(&self.bytes, bytes).unwrap();
        let x = tape.reshape(x, &[WINDOWS, LEN, WIDTH]).unwrap();
        let places = tape.parameter(self.places).unwrap();
        let places = tape.narrow(places, 0, 0..LEN).unwrap();
        let mut x = tape.add(x, places).unwrap();
        for block in &self.blocks {
            let normed = tape.layer(block.attention_norm, x).unwrap();
            let branch = tape.layer(block.attention, normed).unwrap();
            x = tape.add(x, branch).unwrap();
            let branch = tape.sequence(&block.mlp, x).unwrap();
            x = tape.add(x, branch).unwrap();
        }
        let x = tape.layer(self.norm, x).unwrap();
        let x = tape.reshape(x, &[WINDOWS * LEN, WIDTH]).unwrap();
        let bytes = tape.parameter(self.bytes.weight()).unwrap();
        let bytes = tape.transpose(bytes).unwrap();
        tape.matmul(x, bytes).unwrap()
    }
}

/// The optimizer of `trefoil nn text train` with a constant rate, and a greater eps (see `networks.py`).
fn config() -> OptimizerConfig {
    OptimizerConfig {
        rule: Rule::Adam { beta1: 0.9, beta2: 0.99, eps: 1e-3 },
        decay: WeightDecay::Decoupled(0.1),
        clip: Some(1.0),
        ..OptimizerConfig::adam(0.01)
    }
}

/// Compares the losses, the gradients of the first step, and the parameters after the last one.
pub(super) fn hold(g: &Goldens) {
    let q = &g.q;
    let table = ParameterTable::new(&LanguageModel::specs()).unwrap();
    let model = LanguageModel::find(&table);
    let [mut values, mut gradients] = [(); 2].map(|()| ParameterArena::zeros(q, &table).unwrap());
    for id in table.ids() {
        values.write(q, id, g.values(&format!("tape/{}", table.name(id).unwrap()))).unwrap();
    }
    let inputs = Indices::new(q, BYTES, &g.indices("tape/inputs")).unwrap();
    let targets = Tensor::from_values(q, &[WINDOWS * LEN], &g.indices("tape/targets")).unwrap();
    let mut optimizer = Optimizer::new(q, config(), &table).unwrap();
    let mut losses = Vec::new();
    for step in 0..STEPS {
        let mut tape = Tape::new(q, &values, Mode::Training { step });
        let scores = model.scores(&mut tape, &inputs);
        let loss = tape.cross_entropy(scores, targets.at()).unwrap();
        losses.extend(tape.values(loss).unwrap());
        q.clear(gradients.view_mut()).unwrap();
        tape.backward(loss, &mut gradients).unwrap();
        if step == 0 {
            g.hold_arena("tape/d_", &gradients);
        }
        optimizer.step(q, gradients.view(), values.view_mut(), None).unwrap();
    }
    g.hold_values_near("tape/losses", &losses);
    g.hold_arena("tape.trained/", &values);
}
