//! A transformer block on the rows of an image.
//!
//! It has attention and a feed-forward network, each after a layer norm and with a residual
//! connection, then the mean over positions and a dense layer.

use pfss::{
    MatrixShape, SignedRange,
    functions::{Accuracy, gelu},
};

use super::{layers::LayerBuilder, norm::layer_norm};
use crate::{
    Engine, InferenceError, Parameter, Tensor,
    digits::{CLASSES, PIXELS},
    tensor::{FRACTION_BITS, ONE},
};

pub(super) const WEIGHT_LIMIT: u32 = 2;
/// Positions of the sequence, one for each row of the image.
const POSITIONS: usize = 8;
const PATCH: u32 = (PIXELS / POSITIONS) as u32;
const WIDTH: u32 = 16;
const HEADS: usize = 4;
const HEAD_WIDTH: usize = WIDTH as usize / HEADS;
/// Scores are divided by `sqrt(HEAD_WIDTH)`, which is two to this power.
const LOG_SCALE: u32 = 1;
const HIDDEN: u32 = 32;
const OUTPUTS: u32 = CLASSES as u32;

pub(super) fn parameters() -> Vec<Parameter> {
    let dense = |name, inputs: u32, outputs: u32| Parameter::dense(name, inputs as usize, outputs as usize);
    [
        Parameter::dense_at("embed", PATCH as usize, WIDTH as usize, POSITIONS),
        dense("attention.qkv", WIDTH, 3 * WIDTH),
        dense("attention.out", WIDTH, WIDTH),
        dense("feed.hidden", WIDTH, HIDDEN),
        dense("feed.out", HIDDEN, WIDTH),
        dense("head", WIDTH, OUTPUTS),
    ]
    .into_iter()
    .flatten()
    .collect()
}

pub(super) fn run<E: Engine>(layers: &mut LayerBuilder<'_, E>, images: &Tensor) -> Result<Tensor, InferenceError> {
    let embedded = layers.dense_at("embed", images, [PATCH, WIDTH], POSITIONS)?;
    let mut x = layers.rescale("embed.rescale", &embedded)?;
    let normed = layer_norm(layers, "attention.norm", &x, WIDTH)?;
    x = x.add(&attention(layers, &normed)?)?;
    let normed = layer_norm(layers, "feed.norm", &x, WIDTH)?;
    x = x.add(&feed_forward(layers, &normed)?)?;
    let count = x.words.len() / (POSITIONS * WIDTH as usize);
    let sums = x.permuted([count, POSITIONS, WIDTH as usize], [0, 2, 1]).row_sums(POSITIONS as u32)?;
    let mean = layers.shift("pool", &sums, POSITIONS.ilog2())?;
    layers.dense("head", &mean, [WIDTH, OUTPUTS])
}

/// Attention of every position to every position of the same image.
///
/// Source: Vaswani et al., arXiv 1706.03762.
fn attention<E: Engine>(layers: &mut LayerBuilder<'_, E>, x: &Tensor) -> Result<Tensor, InferenceError> {
    let projected = layers.dense("attention.qkv", x, [WIDTH, 3 * WIDTH])?;
    let projected = layers.rescale("attention.qkv.rescale", &projected)?;
    let count = x.words.len() / (POSITIONS * WIDTH as usize);
    // [count][position][part][head][unit], brought to [part][count][head][position][unit]
    let parts = projected.permuted([count, POSITIONS, 3, HEADS, HEAD_WIDTH], [2, 0, 3, 1, 4]);
    let len = x.words.len();
    let [queries, keys, values] = [0, 1, 2].map(|part| parts.slice(part * len..(part + 1) * len));

    let batch = count * HEADS;
    let keys = keys.permuted([batch, POSITIONS, HEAD_WIDTH], [0, 2, 1]);
    let shape = MatrixShape { batch, rows: POSITIONS, inner: HEAD_WIDTH, cols: POSITIONS };
    let scores = layers.matmul("attention.scores", shape, &queries, &keys)?;
    let scores = layers.shift("attention.scores.rescale", &scores, FRACTION_BITS + LOG_SCALE)?;
    let weights = layers.softmax("attention.softmax", &scores, POSITIONS)?;

    let shape = MatrixShape { batch, rows: POSITIONS, inner: POSITIONS, cols: HEAD_WIDTH };
    let mut mixed = layers.matmul("attention.mix", shape, &weights, &values)?;
    // A row of weights sums to one within a unit for each, and none is below -2: their magnitudes sum to little more.
    let sum = ONE + 5 * POSITIONS as i64;
    mixed.range = values.range.checked_mul(SignedRange::new(-sum, sum)?)?;
    let mixed = layers.rescale("attention.mix.rescale", &mixed)?;
    let mixed = mixed.permuted([count, HEADS, POSITIONS, HEAD_WIDTH], [0, 2, 1, 3]);
    let out = layers.dense("attention.out", &mixed, [WIDTH, WIDTH])?;
    layers.rescale("attention.out.rescale", &out)
}

/// Dense layer, GeLU, dense layer.
fn feed_forward<E: Engine>(layers: &mut LayerBuilder<'_, E>, x: &Tensor) -> Result<Tensor, InferenceError> {
    let hidden = layers.dense("feed.hidden", x, [WIDTH, HIDDEN])?;
    let hidden = layers.rescale("feed.hidden.rescale", &hidden)?;
    let activated = layers.function("feed.gelu", &gelu(Accuracy::CUBIC_16)?, &hidden)?;
    let out = layers.dense("feed.out", &activated, [HIDDEN, WIDTH])?;
    layers.rescale("feed.out.rescale", &out)
}
