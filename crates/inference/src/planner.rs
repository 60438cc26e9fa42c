//! The plan of a model: a run on zeros that records its steps.

use crate::{
    Call, Engine, InferenceError, Model,
    keys::plan::{Plan, Step},
};

impl Model {
    /// Its keys, bytes and rounds.
    ///
    /// # Errors
    /// [`InferenceError::Range`] if a range proof fails, which no architecture's does.
    pub fn plan(&self) -> Result<Plan, InferenceError> {
        let mut planner = Planner { steps: Vec::new() };
        let input = self.input(&vec![0; self.count() * self.input_len()])?;
        let outputs = self.run(&mut planner, input)?.words.len();
        let title = format!("{} for {} inputs", self.architecture().name(), self.count());
        Ok(Plan { title, steps: planner.steps, outputs })
    }
}

/// Runs a model on zeros to record its steps.
struct Planner {
    steps: Vec<Step>,
}

impl Engine for Planner {
    fn constant(&self, _: u64) -> u64 {
        0
    }

    fn parameter(&self, _: &str, len: usize) -> Result<Vec<u64>, InferenceError> {
        Ok(vec![0; len])
    }

    fn call(&mut self, step: &str, call: &Call<'_>) -> Result<Vec<u64>, InferenceError> {
        self.steps.push(Step { name: step.to_owned(), deals: call.deals()? });
        Ok(vec![0; call.len()])
    }
}
