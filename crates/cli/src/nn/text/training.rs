//! Steps of a text model, its losses, and its state between two steps.

use backend_api::Queue as _;
use nn_ops::{Indices, Mode, NnError, Optimizer, OptimizerConfig, ParameterArena, Tape, Tensor, io::Checkpoint};
use runtime::AnyQueue;

use super::{
    corpus::TokenBatch,
    model::{BYTES, TextModel, TextShape},
};

/// A model in training.
#[derive(Debug)]
pub(super) struct TextTraining {
    pub(super) model: TextModel,
    gradients: ParameterArena<AnyQueue, f32>,
    optimizer: Optimizer<AnyQueue>,
}

impl TextTraining {
    /// A training before its first step, of a checked shape.
    pub(super) fn new(q: &AnyQueue, shape: TextShape, config: OptimizerConfig, seed: u64) -> Result<Self, NnError> {
        let model = TextModel::random(q, shape, seed)?;
        let optimizer = Optimizer::new(q, config, model.table())?;
        Ok(Self { gradients: ParameterArena::zeros(q, model.table())?, optimizer, model })
    }

    /// The training that [`save`](Self::save) saw.
    ///
    /// # Errors
    /// As [`TextModel::import`] and [`Optimizer::resume`].
    pub(super) fn resume(q: &AnyQueue, shape: TextShape, checkpoint: &Checkpoint) -> Result<Self, NnError> {
        let model = TextModel::import(q, shape, &checkpoint.tensors)?;
        let optimizer = Optimizer::resume(q, model.table(), checkpoint)?;
        Ok(Self { gradients: ParameterArena::zeros(q, model.table())?, optimizer, model })
    }

    /// The state between two steps. Waits for it.
    pub(super) fn save(&self, q: &AnyQueue) -> Result<Checkpoint, NnError> {
        let mut checkpoint = Checkpoint::default();
        self.model.values.export(q, "", &mut checkpoint.tensors)?;
        self.optimizer.save(q, &mut checkpoint)?;
        Ok(checkpoint)
    }

    /// Takes a step on a batch, and returns its mean cross-entropy in nats, from before the step.
    pub(super) fn step(&mut self, q: &AnyQueue, batch: &TokenBatch) -> Result<f32, NnError> {
        let (inputs, targets) = uploaded(q, batch)?;
        q.clear(self.gradients.view_mut())?;
        // The model has no dropout: the step of the masks does not matter.
        let mut tape = Tape::new(q, &self.model.values, Mode::Training { step: 0 });
        let scores = self.model.scores(&mut tape, &inputs, batch.shape())?;
        let loss = tape.cross_entropy(scores, targets.at())?;
        let value = first(&tape.values(loss)?);
        tape.backward(loss, &mut self.gradients)?;
        self.optimizer.step(q, self.gradients.view(), self.model.values.view_mut(), None)?;
        Ok(value)
    }

    /// The mean cross-entropy of batches in nats per byte.
    pub(super) fn loss(&self, q: &AnyQueue, batches: &[TokenBatch]) -> Result<f64, NnError> {
        let (mut sum, mut count) = (0.0, 0);
        for batch in batches {
            let (inputs, targets) = uploaded(q, batch)?;
            let mut tape = Tape::new(q, &self.model.values, Mode::Inference);
            let scores = self.model.scores(&mut tape, &inputs, batch.shape())?;
            let loss = tape.cross_entropy(scores, targets.at())?;
            sum += f64::from(first(&tape.values(loss)?)) * batch.targets.len() as f64;
            count += batch.targets.len();
        }
        Ok(sum / count as f64)
    }
}

/// The bytes of a batch as indices of the embedding, and the bytes that follow them.
fn uploaded(q: &AnyQueue, batch: &TokenBatch) -> Result<(Indices<AnyQueue>, Tensor<AnyQueue, u32>), NnError> {
    let targets = Tensor::from_values(q, &[batch.targets.len()], &batch.targets)?;
    Ok((Indices::new(q, BYTES, &batch.inputs)?, targets))
}

/// The element of a scalar.
fn first(values: &[f32]) -> f32 {
    values.first().copied().unwrap_or(f32::NAN)
}

#[cfg(test)]
mod tests {
    use runtime::{Choice, Domain};

    use super::*;
    use crate::queue::open;

    /// Windows of `0 1 2 3 0 1 2 3 ...`.
    fn batch() -> TokenBatch {
        let bytes = |first: u32| (0..3).flat_map(move |window| (0..5).map(move |i| (window + first + i) % 4));
        TokenBatch { windows: 3, inputs: bytes(0).collect(), targets: bytes(1).collect() }
    }

    #[test]
    fn a_resumed_training_continues_with_the_same_bits() {
        let q = open(Domain::Nn, Some(Choice::Cpu)).unwrap();
        let shape = TextShape { width: 8, heads: 2, layers: 1, context: 5 };
        let mut whole = TextTraining::new(&q, shape, OptimizerConfig::adam_w(0.01), 1).unwrap();
        let before = whole.loss(&q, &[batch()]).unwrap();
        assert!((before - 256f64.ln()).abs() < 1.0, "{before}");
        let first_loss = f64::from(whole.step(&q, &batch()).unwrap());
        assert!((first_loss - before).abs() < 1e-5 * before, "{first_loss} {before}");
        let mut resumed = TextTraining::resume(&q, shape, &whole.save(&q).unwrap()).unwrap();
        for _ in 0..40 {
            assert_eq!(whole.step(&q, &batch()), resumed.step(&q, &batch()));
        }
        assert_eq!(whole.save(&q).unwrap(), resumed.save(&q).unwrap());
        assert!(whole.loss(&q, &[batch(), batch()]).unwrap() < before - 1.0);
        let other = TextShape { layers: 2, ..shape };
        let lost = TextTraining::resume(&q, other, &whole.save(&q).unwrap()).unwrap_err();
        assert!(matches!(lost, NnError::MissingTensor { .. }), "{lost}");
    }
}
