//! Execution of a model: in the clear, on shares, or only to record its requirements.

use crate::{
    Call, InferenceError,
    keys::{opened::WeightProduct, plan::Step},
};

/// An executor of models: in the clear, on shares, or only to record their requirements.
///
/// Local steps are the same words everywhere, since they are linear. An engine defines the form of
/// public constants and weights, and the steps that involve the other party.
pub trait Engine {
    /// This engine's word of the public constant `word`.
    ///
    /// It is the constant itself, or zero for the party that does not add it.
    fn constant(&self, word: u64) -> u64;

    /// This engine's words of a parameter with `len` elements.
    ///
    /// # Errors
    /// [`InferenceError::Parameters`] if the model's weights do not have it.
    fn parameter(&self, name: &str, len: usize) -> Result<Vec<u64>, InferenceError>;

    /// Checks values against a declared limit, in fixed point. Only an engine in the clear can.
    ///
    /// # Errors
    /// [`InferenceError::Declared`] for a value beyond it.
    fn check_declared(&self, _step: &str, _words: &[u64], _limit: u32) -> Result<(), InferenceError> {
        Ok(())
    }

    /// Runs a step.
    ///
    /// # Errors
    /// Engine-specific.
    fn call(&mut self, step: &str, call: &Call<'_>) -> Result<Vec<u64>, InferenceError>;
}

/// An engine that records steps and returns zeros.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) steps: Vec<RecordedStep>,
}

/// A step of a run.
pub(crate) struct RecordedStep {
    pub(crate) step: Step,
    /// The product by weights, if the step is one.
    pub(crate) product: Option<WeightProduct>,
}

impl Engine for Recorder {
    fn constant(&self, _: u64) -> u64 {
        0
    }

    fn parameter(&self, _: &str, len: usize) -> Result<Vec<u64>, InferenceError> {
        Ok(vec![0; len])
    }

    fn call(&mut self, step: &str, call: &Call<'_>) -> Result<Vec<u64>, InferenceError> {
        let step = Step { name: step.to_owned(), deals: call.deals()? };
        self.steps.push(RecordedStep { step, product: call.weight_product() });
        Ok(vec![0; call.len()])
    }
}
