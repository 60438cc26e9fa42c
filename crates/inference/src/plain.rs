//! A model in the clear: exactly what shares compute.

use crate::{Call, Engine, InferenceError, Model, Parameters, tensor::ONE};

/// The logits of images, `[count][classes]`.
///
/// They have [`Model::output_fraction_bits`].
///
/// # Errors
/// As [`Role::check`](crate::party::Role::check) for inputs, [`InferenceError::Parameters`] if the
/// weights are another model's, and [`InferenceError::Declared`] for a value beyond a limit that a
/// file or a function declares for the results of a layer, or for projections and scores.
pub fn logits(model: &Model, weights: &Parameters, images: &[u64]) -> Result<Vec<u64>, InferenceError> {
    let input = model.input(images)?;
    weights.check(model)?;
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

    fn check_declared(&self, step: &str, words: &[u64], limit: u32) -> Result<(), InferenceError> {
        let most = words.iter().map(|word| word.cast_signed().unsigned_abs()).max().unwrap_or(0);
        if most <= u64::from(limit) * ONE.cast_unsigned() {
            return Ok(());
        }
        Err(InferenceError::Declared { step: step.to_owned(), limit, got: most as f64 / ONE as f64 })
    }

    fn call(&mut self, _: &str, call: &Call<'_>) -> Result<Vec<u64>, InferenceError> {
        Ok(call.plain()?)
    }
}
