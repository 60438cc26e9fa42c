//! The plans of a model: a run on zeros that records its steps.

use crate::{
    Call, Engine, InferenceError, Model,
    keys::{
        deal::Deal,
        opened::{OpenedPlan, WeightProduct},
        plan::{Plan, Step},
    },
    tls::MAX_MESSAGE_BYTES,
};

impl Model {
    /// Its keys, bytes and rounds.
    ///
    /// # Errors
    /// [`InferenceError::Layer`] if a range of a file's or a function's model cannot be proven from
    /// its limits, and the errors of the function. The ranges of built-in architectures are proven.
    /// [`InferenceError::MessageLength`] if a message may be too long for a connection.
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
        let input = self.shares(vec![0; self.count() * self.input_len()]);
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
            _ => {
                let deals = call.deals()?;
                deals.iter().try_for_each(|deal| check_messages(step, deal))?;
                self.steps.push(Step { name: step.to_owned(), deals });
            }
        }
        Ok(vec![0; call.len()])
    }
}

/// Checks that a connection carries the messages of a deal.
///
/// A run would fail when its keys are spent. The messages of all rounds count together.
fn check_messages(step: &str, deal: &Deal) -> Result<(), InferenceError> {
    let (max, (got, _)) = (MAX_MESSAGE_BYTES as u64, deal.traffic());
    if got <= max { Ok(()) } else { Err(InferenceError::MessageLength { step: step.to_owned(), max, got }) }
}

#[cfg(test)]
mod tests {
    use pfss::MatrixShape;

    use super::*;
    use crate::tensor::RING;

    #[test]
    fn messages_that_a_connection_does_not_carry_are_refused() {
        let len = 1 << 13;
        let product = |rows| Deal::Matrix(RING, MatrixShape { batch: 1, rows, inner: len, cols: len });
        assert!(check_messages("x", &product(len - 1)).is_ok());
        // both factors in 64 bits are 2^30 bytes, and a step digest has 16
        let refused = check_messages("x", &product(len)).unwrap_err().to_string();
        assert!(refused.starts_with("`x`: expected messages of at most 1073741824 bytes, got 1073741840"), "{refused}");
    }
}
