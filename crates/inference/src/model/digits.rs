//! Dense layer, ReLU, dense layer.

use super::layers::LayerBuilder;
use crate::{
    InferenceError, Parameter, Tensor,
    digits::{CLASSES, PIXELS},
};

pub(super) const WEIGHT_LIMIT: u32 = 4;
const INPUTS: u32 = PIXELS as u32;
const HIDDEN: u32 = 64;
const OUTPUTS: u32 = CLASSES as u32;

pub(super) fn parameters() -> Vec<Parameter> {
    let hidden = Parameter::dense("hidden", PIXELS, HIDDEN as usize);
    hidden.into_iter().chain(Parameter::dense("output", HIDDEN as usize, CLASSES)).collect()
}

pub(super) fn run(layers: &mut LayerBuilder<'_>, images: &Tensor) -> Result<Tensor, InferenceError> {
    let linear = layers.dense("hidden", images, [INPUTS, HIDDEN])?;
    let activated = layers.relu("relu", &linear)?;
    layers.logits("output", &activated, [HIDDEN, OUTPUTS], Some(1))
}
