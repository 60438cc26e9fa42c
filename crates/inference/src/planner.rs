//! The plans of a model: a run on zeros that records its steps.

use crate::{
    Call, Engine, InferenceError, Model,
    keys::{
        opened::{OpenedPlan, WeightProduct},
        plan::{Plan, Step},
    },
};

impl Model {
    /// Its keys, bytes and rounds.
    ///
    /// # Errors
    /// [`InferenceError::Range`] if a range proof fails, which no architecture's does.
    pub fn plan(&self) -> Result<Plan, InferenceError> {
        self.record(None).map(|(plan, _)| plan)
    }

    /// Its keys, bytes and rounds if its weights are opened once, for many runs.
    ///
    /// # Errors
    /// As [`plan`](Self::plan).
    pub fn opened_plan(&self) -> Result<OpenedPlan, InferenceError> {
        let (mut others, products) = self.record(Some(Vec::new()))?;
        others.title.push_str(" on opened weights");
        Ok(OpenedPlan { others, products })
    }

    /// The steps of a run. Products by weights go to `products` instead, if it is given.
    fn record(&self, products: Option<Vec<WeightProduct>>) -> Result<(Plan, Vec<WeightProduct>), InferenceError> {
        let mut planner = Planner { steps: Vec::new(), products };
        let input = self.input(&vec![0; self.count() * self.input_len()])?;
        let outputs = self.run(&mut planner, input)?.words.len();
        Ok((Plan { title: self.title(), steps: planner.steps, outputs }, planner.products.unwrap_or_default()))
    }
}

/// Runs a model on zeros to record its steps.
struct Planner {
    steps: Vec<Step>,
    /// Products by weights, if they are no steps.
    products: Option<Vec<WeightProduct>>,
}

impl Engine for Planner {
    fn constant(&self, _: u64) -> u64 {
        0
    }

    fn parameter(&self, _: &str, len: usize) -> Result<Vec<u64>, InferenceError> {
        Ok(vec![0; len])
    }

    fn call(&mut self, step: &str, call: &Call<'_>) -> Result<Vec<u64>, InferenceError> {
        match (&mut self.products, call.weight_product()) {
            (Some(products), Some(product)) => products.push(product),
            _ => self.steps.push(Step { name: step.to_owned(), deals: call.deals()? }),
        }
        Ok(vec![0; call.len()])
    }
}
