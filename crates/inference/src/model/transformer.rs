//! A transformer block on the rows of an image.
//!
//! Each row is embedded with biases for its position. After one layer come the mean over positions
//! and a dense layer.

use super::{
    block::{layer, layer_parameters},
    layers::LayerBuilder,
    shape::{NormPlacement, TransformerBlock, TransformerShape},
};
use crate::{
    InferenceError, Parameter, Tensor,
    digits::{CLASSES, PIXELS},
};

pub(super) const WEIGHT_LIMIT: u32 = 2;
/// Positions of the sequence, one for each row of the image.
const POSITIONS: usize = 8;
const PATCH: u32 = (PIXELS / POSITIONS) as u32;
const WIDTH: u32 = 16;
const OUTPUTS: u32 = CLASSES as u32;

/// All its ranges are proven from the limit on weights.
const BLOCK: TransformerBlock = TransformerBlock {
    shape: TransformerShape {
        layers: 1,
        width: WIDTH,
        heads: 4,
        hidden: 32,
        sequence: POSITIONS as u32,
        causal: false,
        norm: NormPlacement::Pre,
    },
    limits: None,
};

pub(super) fn parameters() -> Vec<Parameter> {
    let embed = Parameter::dense_at("embed", PATCH as usize, WIDTH as usize, POSITIONS);
    let head = Parameter::dense("head", WIDTH as usize, OUTPUTS as usize);
    embed.into_iter().chain(layer_parameters(&BLOCK.shape, 0)).chain(head).collect()
}

pub(super) fn run(layers: &mut LayerBuilder<'_>, images: &Tensor) -> Result<Tensor, InferenceError> {
    let embedded = layers.dense_at("embed", images, [PATCH, WIDTH], Some(POSITIONS))?;
    let x = layer(layers, &BLOCK, 0, &embedded)?;
    let count = x.words.len() / (POSITIONS * WIDTH as usize);
    let sums = x.permuted([count, POSITIONS, WIDTH as usize], [0, 2, 1]).row_sums(POSITIONS as u32)?;
    let mean = layers.shift("pool", sums, POSITIONS.ilog2())?;
    layers.logits("head", &mean, [WIDTH, OUTPUTS], Some(1))
}
