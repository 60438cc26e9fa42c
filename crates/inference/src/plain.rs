//! A model in the clear: exactly what shares compute.

use crate::{Call, Engine, InferenceError, Model, Parameters};

/// The logits of images, `[count][classes]`.
///
/// They have twice [`FRACTION_BITS`](crate::FRACTION_BITS) fraction bits.
///
/// # Errors
/// [`InferenceError::Images`] for another number of pixels than the model's,
/// [`InferenceError::Parameters`] if the weights are another model's.
pub fn logits(model: &Model, weights: &Parameters, images: &[u64]) -> Result<Vec<u64>, InferenceError> {
    let input = model.input(images)?;
    Ok(model.run(&mut Plain { weights }, input)?.words)
}

struct Plain<'a> {
    weights: &'a Parameters,
}

impl Engine for Plain<'_> {
    fn constant(&self, word: u64) -> u64 {
        word
    }

    fn parameter(&self, name: &str, len: usize) -> Result<Vec<u64>, InferenceError> {
        self.weights.get(name, len)
    }

    fn call(&mut self, _: &str, call: &Call<'_>) -> Result<Vec<u64>, InferenceError> {
        Ok(call.plain()?)
    }
}
