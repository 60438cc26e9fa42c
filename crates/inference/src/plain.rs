//! A model in the clear: exactly what shares compute.

use crate::{Call, Engine, FRACTION_BITS, InferenceError, Model, Parameters, Words, fixed_point::ONE};

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
    Ok(model.run(&mut Plain { weights }, input)?.words.on_host()?.to_vec())
}

struct Plain<'a> {
    weights: &'a Parameters,
}

impl Engine for Plain<'_> {
    fn constant(&self, word: u64) -> u64 {
        word
    }

    fn parameter(&self, name: &str, len: usize) -> Result<Words, InferenceError> {
        Ok(self.weights.get(name, len)?.into())
    }

    fn check_declared(&self, step: &str, words: &Words, fraction_bits: u32, limit: u32) -> Result<(), InferenceError> {
        let most = words.on_host()?.iter().map(|word| word.cast_signed().unsigned_abs()).max().unwrap_or(0);
        // a magnitude between two units counts as the greater
        let most = most.div_ceil(1 << fraction_bits.saturating_sub(FRACTION_BITS));
        if most <= u64::from(limit) * ONE.cast_unsigned() {
            return Ok(());
        }
        Err(InferenceError::Declared { step: step.to_owned(), limit, got: most as f64 / ONE as f64 })
    }

    fn call(&mut self, _: &str, call: &Call<'_>) -> Result<Words, InferenceError> {
        Ok(call.plain()?.into())
    }
}
