//! Speed lines of training: a step of a transformer that is made of layers on a tape.
//!
//! It is the decoder of GPT-2 (Radford et al., "Language Models are Unsupervised Multitask
//! Learners", 2019) over bytes, as `trefoil nn text train` fits it, with the embedding of bytes as
//! the weights of the scores. A step is forward, loss, backward and AdamW. Activations are f32, or
//! bf16 with weights in f32; PyTorch computes the latter by `autocast`.

use backend_api::Queue as _;
use half::bf16;
use nn_ops::{
    Activation, Dense, Embedding, Indices, LayerNorm, MasterWeights, Mode, NnError, Optimizer, OptimizerConfig,
    ParameterArena, ParameterId, ParameterSpec, ParameterTable, Parameters, Precision, SelfAttention, Sequential, Tape,
    Tensor, Var,
};
use runtime::AnyQueue;

use crate::{
    Line,
    host::{against_peak, values, words},
    line::RunSize,
};

/// The number of tokens: a byte each.
const BYTES: usize = 256;

/// The name of the embedding of places, `[rows, width]`.
const PLACES: &str = "places.weight";

/// The model and its batch: features, heads, blocks, bytes of a window, and windows.
#[derive(Clone, Copy)]
struct TextSizes {
    width: usize,
    heads: usize,
    layers: usize,
    rows: usize,
    batch: usize,
}

pub(super) fn contests() -> Vec<Line> {
    let sizes = TextSizes { width: 256, heads: 4, layers: 4, rows: 128, batch: 16 };
    vec![
        against_peak(step::<f32>("nn.text_step", sizes)),
        // The peak is of multiply-adds in f32, as for products in bf16.
        against_peak(step::<bf16>("nn.text_step_bf16", sizes)),
    ]
}

impl TextSizes {
    /// Products of a step: three for each weight, seven for each pair of rows in attention.
    fn run_size(self) -> RunSize {
        let Self { width, layers, rows, batch, .. } = self;
        let weights = 12 * layers * width * width + BYTES * width;
        let pairs = layers * batch * rows * (rows + 1) / 2;
        RunSize::computing("flop", (6 * weights * batch * rows + 14 * pairs * width) as f64, 0.0)
    }

    fn specs(self) -> Vec<ParameterSpec> {
        let Self { width, layers, rows, .. } = self;
        let mut specs = Vec::from(Embedding::specs("bytes", [BYTES, width]));
        specs.push(ParameterSpec::new(PLACES, &[rows, width]));
        for block in 0..layers {
            specs.extend(LayerNorm::specs(&format!("{block}.attention_norm"), width));
            specs.extend(SelfAttention::specs(&format!("{block}.attention"), width));
            specs.extend(LayerNorm::specs(&format!("{block}.mlp_norm"), width));
            specs.extend(Dense::specs(&format!("{block}.mlp_in"), [width, 4 * width]));
            specs.extend(Dense::specs(&format!("{block}.mlp_out"), [4 * width, width]));
        }
        specs.extend(LayerNorm::specs("norm", width));
        specs
    }
}

/// The layers of the model.
struct Decoder {
    sizes: TextSizes,
    bytes: Embedding,
    places: ParameterId,
    /// Two for each block, attention and perceptron; the output of each is added to its input.
    branches: Vec<Sequential>,
    norm: LayerNorm,
}

impl Decoder {
    fn find(table: &ParameterTable, sizes: TextSizes) -> Result<Self, NnError> {
        let norm = |name: &str| LayerNorm::find(table, name, 1e-5);
        let mut branches = Vec::new();
        for block in 0..sizes.layers {
            let attention = SelfAttention::find(table, &format!("{block}.attention"), sizes.heads)?.causal();
            branches.push(Sequential::new([norm(&format!("{block}.attention_norm"))?.into(), attention.into()]));
            branches.push(Sequential::new([
                norm(&format!("{block}.mlp_norm"))?.into(),
                Dense::find(table, &format!("{block}.mlp_in"))?.into(),
                Activation::GeluTanh.into(),
                Dense::find(table, &format!("{block}.mlp_out"))?.into(),
            ]));
        }
        let (bytes, places) = (Embedding::find(table, "bytes")?, table.id(PLACES)?);
        Ok(Self { sizes, bytes, places, branches, norm: norm("norm")? })
    }

    fn initialize(&self, q: &AnyQueue, weights: &mut ParameterArena<AnyQueue, f32>) -> Result<(), NnError> {
        self.bytes.initialize(q, weights, 0)?;
        weights.write(q, self.places, &values(self.sizes.rows * self.sizes.width, 0.05))?;
        for (seed, branch) in (1..).zip(&self.branches) {
            branch.initialize(q, weights, seed)?;
        }
        self.norm.initialize(q, weights, 0)
    }

    /// Records the scores `[batch rows, 256]` of the byte after each byte of the windows.
    fn scores<'a, T: Precision>(
        &self,
        tape: &mut Tape<'a, AnyQueue, T>,
        inputs: &'a Indices<AnyQueue>,
    ) -> Result<Var, NnError> {
        let TextSizes { width, rows, batch, .. } = self.sizes;
        let x = tape.embedding(&self.bytes, inputs)?;
        let x = tape.reshape(x, &[batch, rows, width])?;
        let places = tape.parameter(self.places)?;
        let mut x = tape.add(x, places)?;
        for branch in &self.branches {
            let y = tape.sequence(branch, x)?;
            x = tape.add(x, y)?;
        }
        let x = tape.layer(self.norm, x)?;
        let x = tape.reshape(x, &[batch * rows, width])?;
        let bytes = tape.parameter(self.bytes.weight())?;
        let bytes = tape.transpose(bytes)?;
        tape.matmul(x, bytes)
    }
}

/// Forward, loss, backward and a step of AdamW, of a batch of windows of random bytes.
fn step<T: Precision>(id: &str, sizes: TextSizes) -> Line {
    Line::new(id, sizes.run_size(), move |q| {
        let table = ParameterTable::new(&sizes.specs())?;
        let decoder = Decoder::find(&table, sizes)?;
        let mut values = ParameterArena::<AnyQueue, f32>::zeros(q, &table)?;
        let mut gradients = ParameterArena::<AnyQueue, f32>::zeros(q, &table)?;
        decoder.initialize(q, &mut values)?;
        let mut weights = MasterWeights::<AnyQueue, T>::new(q, values)?;
        let mut optimizer = Optimizer::new(q, OptimizerConfig::adam_w(1e-3), &table)?;
        let count = sizes.batch * sizes.rows;
        let random = |salt| words(count, salt).into_iter().map(|word| (word >> 56) as u32).collect::<Vec<u32>>();
        let inputs = Indices::new(q, BYTES, &random(1))?;
        let targets = Tensor::from_values(q, &[count], &random(2))?;
        Ok(Box::new(move |q| {
            q.clear(gradients.view_mut())?;
            let mut tape = Tape::new(q, weights.layers(), Mode::Training { step: 0 });
            let scores = decoder.scores(&mut tape, &inputs)?;
            let loss = tape.cross_entropy(scores, targets.at())?;
            tape.backward(loss, &mut gradients)?;
            Ok(weights.step(q, &mut optimizer, &gradients)?)
        }))
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cpu_backend::SimdLevel;

    use super::*;
    use crate::{Effort, line::one_thread};

    #[test]
    fn a_step_of_a_small_transformer_takes_time() {
        let sizes = TextSizes { width: 8, heads: 2, layers: 2, rows: 5, batch: 3 };
        let (q, effort) = (one_thread(SimdLevel::Avx512), Effort { rounds: 1, batch: Duration::ZERO });
        assert!(step::<f32>("nn.text_step", sizes).measure(&q, effort).unwrap().median_s > 0.0);
        assert!(step::<bf16>("nn.text_step_bf16", sizes).measure(&q, effort).unwrap().median_s > 0.0);
    }
}
