//! Steps of a text model, its losses, and its state between two steps.

use backend_api::Queue as _;
use nn_ops::{
    Indices, Mode, NnError, Optimizer, OptimizerConfig, ParameterArena, Precision, StepState, Tape, Tensor,
    io::Checkpoint,
};
use runtime::AnyQueue;

use super::{
    corpus::TokenBatch,
    model::{BYTES, TextModel, TextShape},
};

/// A model in training, with activations in `T`.
#[derive(Debug)]
pub(super) struct TextTraining<T: Precision> {
    pub(super) model: TextModel<T>,
    gradients: ParameterArena<AnyQueue, f32>,
    optimizer: Optimizer<AnyQueue>,
}

impl<T: Precision> TextTraining<T> {
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
        self.model.weights.values().export(q, "", &mut checkpoint.tensors)?;
        self.optimizer.save(q, &mut checkpoint)?;
        Ok(checkpoint)
    }

    /// The record of the steps. Waits for it.
    pub(super) fn state(&self, q: &AnyQueue) -> Result<StepState, NnError> {
        self.optimizer.state(q)
    }

    /// Takes a step on a batch, and returns its loss and rate.
    ///
    /// The loss is the mean cross-entropy in nats, from before the step. A step whose gradients are
    /// not finite is left out if norms are measured, as with a loss scale: the weights stay, and
    /// the next step has its rate.
    pub(super) fn step(&mut self, q: &AnyQueue, batch: &TokenBatch) -> Result<[f32; 2], NnError> {
        let (inputs, targets) = uploaded(q, batch)?;
        q.clear(self.gradients.view_mut())?;
        // The model has no dropout: the step of the masks does not matter.
        let mut tape = Tape::new(q, self.model.weights.layers(), Mode::Training { step: 0 });
        let scores = self.model.layers.scores(&mut tape, &inputs, batch.shape())?;
        let loss = tape.cross_entropy(scores, targets.at())?;
        let value = first(&tape.values(loss)?);
        // The queue is idle here: reading the record waits for this copy alone.
        let taken = self.optimizer.state(q)?.step;
        tape.backward_scaled(loss, &self.optimizer, &mut self.gradients)?;
        self.model.weights.step(q, &mut self.optimizer, &self.gradients)?;
        Ok([value, self.optimizer.config().schedule.rate(taken + 1) as f32])
    }

    /// The mean cross-entropy of batches in nats per byte, by the weights in f32.
    pub(super) fn loss(&self, q: &AnyQueue, batches: &[TokenBatch]) -> Result<f64, NnError> {
        let (mut sum, mut count) = (0.0, 0);
        for batch in batches {
            let (inputs, targets) = uploaded(q, batch)?;
            let mut tape = Tape::new(q, self.model.weights.values(), Mode::Inference);
            let scores = self.model.layers.scores(&mut tape, &inputs, batch.shape())?;
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
    use half::{bf16, f16};
    use nn_ops::{Annealing, LossScale, Schedule};
    use runtime::{Choice, Domain};

    use super::*;
    use crate::queue::open;

    /// Windows of `0 1 2 3 0 1 2 3 ...`.
    fn batch() -> TokenBatch {
        let bytes = |first: u32| (0..3).flat_map(move |window| (0..5).map(move |i| (window + first + i) % 4));
        TokenBatch { windows: 3, inputs: bytes(0).collect(), targets: bytes(1).collect() }
    }

    const SHAPE: TextShape = TextShape { width: 8, heads: 2, layers: 1, context: 5 };

    /// Trains for 41 steps, and from a copy of the state after the first.
    ///
    /// The first loss in training is within `rounding` of the loss in f32, relative to it.
    fn expect_resumed<T: Precision>(loss_scale: Option<LossScale>, rounding: f64) {
        let q = open(Domain::Nn, Some(Choice::Cpu)).unwrap();
        let config = OptimizerConfig { loss_scale, ..OptimizerConfig::adam_w(0.01) };
        let mut whole = TextTraining::<T>::new(&q, SHAPE, config, 1).unwrap();
        let before = whole.loss(&q, &[batch()]).unwrap();
        assert!((before - 256f64.ln()).abs() < 1.0, "{before}");
        let first_loss = f64::from(whole.step(&q, &batch()).unwrap()[0]);
        assert!((first_loss - before).abs() < rounding * before, "{first_loss} {before}");
        let mut resumed = TextTraining::<T>::resume(&q, SHAPE, &whole.save(&q).unwrap()).unwrap();
        for _ in 0..40 {
            assert_eq!(whole.step(&q, &batch()), resumed.step(&q, &batch()));
        }
        assert_eq!(whole.save(&q).unwrap(), resumed.save(&q).unwrap());
        assert!(whole.loss(&q, &[batch(), batch()]).unwrap() < before - 1.0);
        let other = TextShape { layers: 2, ..SHAPE };
        let lost = TextTraining::<T>::resume(&q, other, &whole.save(&q).unwrap()).unwrap_err();
        assert!(matches!(lost, NnError::MissingTensor { .. }), "{lost}");
    }

    #[test]
    fn a_resumed_training_continues_with_the_same_bits() {
        expect_resumed::<f32>(None, 1e-5);
    }

    #[test]
    fn a_resumed_training_in_16_bits_continues_with_the_same_bits() {
        // Half of the distance from 1 to the next number.
        expect_resumed::<bf16>(None, 2f64.powi(-8));
        expect_resumed::<f16>(Some(LossScale::default()), 2f64.powi(-11));
        expect_resumed::<f16>(Some(LossScale { initial: 2f32.powi(24), ..LossScale::default() }), 2f64.powi(-11));
    }

    #[test]
    fn steps_that_overflow_in_f16_change_no_weight_and_do_not_advance_the_rate() {
        let q = open(Domain::Nn, Some(Choice::Cpu)).unwrap();
        let schedule = Schedule { rate: 0.01, warmup: 4, annealing: Annealing::Constant };
        let scale = LossScale { initial: 2f32.powi(24), ..LossScale::default() };
        let config = OptimizerConfig { schedule, loss_scale: Some(scale), ..OptimizerConfig::adam_w(0.01) };
        let mut training = TextTraining::<f16>::new(&q, SHAPE, config, 1).unwrap();
        let weights = |training: &TextTraining<f16>| training.model.to_bytes(&q).unwrap();
        let start = weights(&training);
        // The scores of 15 bytes have gradients of the scale times (1 - 1/256) / 15, beyond 65504 down to 2^20.
        let mut rows = Vec::new();
        for _ in 0..5 {
            rows.push(training.step(&q, &batch()).unwrap());
            assert_eq!(weights(&training), start);
        }
        assert_eq!(rows[1..], [rows[0]; 4]);
        assert_eq!(rows[0][1], 0.0025);
        let StepState { step, skipped, loss_scale, .. } = training.state(&q).unwrap();
        assert_eq!((step, skipped, loss_scale), (0, 5, 2f32.powi(19)));
        // Until a scale fits.
        while training.state(&q).unwrap().step == 0 {
            assert_eq!(training.step(&q, &batch()).unwrap(), rows[0]);
        }
        assert_ne!(weights(&training), start);
        let [loss, rate] = training.step(&q, &batch()).unwrap();
        assert!(loss != rows[0][0] && rate == 0.005, "{loss} {rate}");
    }
}
