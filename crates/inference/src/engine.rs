//! What a model runs on: in the clear, on shares, or to see what it would need.

use crate::{Call, InferenceError};

/// What a model runs on: in the clear, on shares, or to see what it would need.
///
/// Local steps are the same words everywhere, since they are linear. An engine decides what public constants and
/// weights look like, and what a step that involves the other party does.
pub trait Engine {
    /// This engine's words of the public constant `word`: the constant itself, or zero for the party that does not add
    /// it.
    fn constant(&self, word: u64) -> u64;

    /// This engine's words of a parameter with `len` elements.
    ///
    /// # Errors
    /// [`InferenceError::Parameters`] if the model's weights do not have it.
    fn parameter(&self, name: &str, len: usize) -> Result<Vec<u64>, InferenceError>;

    /// Runs a step.
    ///
    /// # Errors
    /// As the engine says.
    fn call(&mut self, step: &str, call: &Call<'_>) -> Result<Vec<u64>, InferenceError>;
}
