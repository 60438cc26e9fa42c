//! The plans of a model: a run on zeros that records its steps.

use sha2::{Digest as _, Sha256};

use crate::{
    InferenceError, Model, Parameter, Tensor,
    engine::{FlowRecorder, RecordedStep, Recorder},
    keys::{
        deal::Deal,
        opened::OpenedPlan,
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
        let (recorder, outputs) = self.record()?;
        self.plan_of(recorder.steps, outputs)
    }

    /// Its keys, bytes and rounds if its weights are opened once, for many runs.
    ///
    /// # Errors
    /// As [`plan`](Self::plan).
    pub fn opened_plan(&self) -> Result<OpenedPlan, InferenceError> {
        let (recorder, outputs) = self.record()?;
        self.opened_plan_of(recorder.steps, outputs)
    }

    /// A digest of the weights' names and shapes, of the plan, and of a run on made-up words.
    ///
    /// The plan has all steps, in a deal for many runs too, and messages of any length. The run
    /// differs if only local steps do, such as sums or the strides of a convolution.
    ///
    /// # Errors
    /// As [`plan`](Self::plan), but for [`InferenceError::MessageLength`].
    pub(crate) fn layers_digest(&self) -> Result<[u8; 32], InferenceError> {
        let mut flow = FlowRecorder::default();
        let input = FlowRecorder::words("input", [&[]; 2], self.count() * self.input_len());
        let Tensor { words, range } = self.run(&mut flow, self.shares(input))?;
        let steps = flow.recorder.steps.into_iter().map(|recorded| recorded.step).collect();
        let outputs = words.len();
        let mut hasher = Sha256::new();
        hasher.update(b"trefoil inference layers v1");
        hasher.update(Plan { title: self.title(), steps, outputs }.digest());
        for Parameter { name, shape, outputs_first, fraction_bits } in self.parameters() {
            hasher.update((name.len() as u64).to_le_bytes());
            hasher.update(name);
            hasher.update((shape.len() as u64).to_le_bytes());
            shape.iter().for_each(|len| hasher.update((*len as u64).to_le_bytes()));
            hasher.update([u8::from(outputs_first)]);
            hasher.update(fraction_bits.to_le_bytes());
        }
        [range.min(), range.max()].iter().for_each(|end| hasher.update(end.to_le_bytes()));
        words.on_host()?.iter().for_each(|word| hasher.update(word.to_le_bytes()));
        Ok(hasher.finalize().into())
    }

    /// An engine that has recorded a run, and the elements of the result.
    pub(crate) fn record(&self) -> Result<(Recorder, usize), InferenceError> {
        let mut recorder = Recorder::default();
        let input = self.shares(vec![0; self.count() * self.input_len()]);
        let outputs = self.run(&mut recorder, input)?.words.len();
        Ok((recorder, outputs))
    }

    /// [`plan`](Self::plan) from a recorded run.
    pub(crate) fn plan_of(&self, steps: Vec<RecordedStep>, outputs: usize) -> Result<Plan, InferenceError> {
        self.checked_plan(steps.into_iter().map(|recorded| recorded.step).collect(), outputs)
    }

    /// [`opened_plan`](Self::opened_plan) from a recorded run.
    pub(crate) fn opened_plan_of(
        &self,
        steps: Vec<RecordedStep>,
        outputs: usize,
    ) -> Result<OpenedPlan, InferenceError> {
        let (mut others, mut products) = (Vec::new(), Vec::new());
        for RecordedStep { step, product } in steps {
            match product {
                Some(product) => products.push(product),
                None => others.push(step),
            }
        }
        let mut others = self.checked_plan(others, outputs)?;
        others.title.push_str(" on opened weights");
        Ok(OpenedPlan { others, products })
    }

    /// The plan of these steps, whose messages a connection carries.
    fn checked_plan(&self, steps: Vec<Step>, outputs: usize) -> Result<Plan, InferenceError> {
        for Step { name, deals } in &steps {
            deals.iter().try_for_each(|deal| check_messages(name, deal))?;
        }
        Ok(Plan { title: self.title(), steps, outputs })
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
    use crate::fixed_point::RING;

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
