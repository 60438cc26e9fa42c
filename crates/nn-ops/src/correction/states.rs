//! Records of trainings on a device, their features, and their codes.

use backend_api::{
    Buffer, Queue,
    ops::correction::{EncodeStates, TrainingFeatures, TrainingRecords},
};
use core_types::params::correction::{EncodeParams, FEATURES, LOSSES, NORMS, SCALARS};

use super::state::TrainingState;
use crate::{
    CorrectionOps,
    error::{NnError, Result},
    tensor::{Layout, Planned, TensorMut, TensorRef},
};

const WIDTH: usize = FEATURES as usize;

/// The records of a batch of trainings, on a queue's device.
///
/// ```
/// use nn_ops::{EncoderPlan, EncoderResults, Tensor, TrainingState, TrainingStates};
///
/// let mut training = TrainingState::new();
/// training.record_step(2.5, 1.2);
/// training.record_step(1.5, 0.8);
///
/// let q = runtime::cpu()?;
/// let states = TrainingStates::new(&q, &[training])?;
/// let weights = Tensor::from_values(&q, &[64, 2], &[0.5f32; 64 * 2])?;
/// let bias = Tensor::from_values(&q, &[2], &[0.0f32, -1e6])?;
/// let (mut features, mut codes) = (Tensor::alloc(&q, &[1, 64])?, Tensor::alloc(&q, &[1, 2])?);
/// let results = EncoderResults { features: Some(features.at_mut()), codes: codes.at_mut() };
/// EncoderPlan::new(1, 2)?.run(&q, &states, weights.at(), bias.at(), results)?;
///
/// let features = features.values(&q)?;
/// assert_eq!(features[..5], [1.5, 2.0, 0.5, 1.5, 2.5]); // the loss; mean, deviation, least and greatest of all
/// let sum: f32 = features.iter().map(|x| 0.5 * x).sum();
/// let codes = codes.values(&q)?;
/// assert!(((codes[0] - sum.max(0.0)).abs() < 1e-4) && codes[1] == 0.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TrainingStates<Q: Queue> {
    batch: usize,
    losses: Q::Buf<f32>,
    norms: Q::Buf<f32>,
    scalars: Q::Buf<f32>,
    recorded: Q::Buf<u64>,
}

impl<Q: Queue> TrainingStates<Q> {
    /// Copies records to the device.
    ///
    /// # Errors
    /// [`NnError::Backend`] if memory is short.
    pub fn new(q: &Q, states: &[TrainingState]) -> Result<Self> {
        let of = |len: u64| q.alloc::<f32>(states.len() * len as usize);
        let (losses, norms, scalars) = (of(LOSSES)?, of(NORMS)?, of(SCALARS)?);
        let recorded = q.alloc(2 * states.len())?;
        let mut all = Self { batch: states.len(), losses, norms, scalars, recorded };
        all.write(q, states)?;
        Ok(all)
    }

    /// Replaces the records with the records of an equal number of trainings.
    ///
    /// # Errors
    /// [`NnError::Length`] for another number of them, [`NnError::Backend`] from the device.
    pub fn write(&mut self, q: &Q, states: &[TrainingState]) -> Result<()> {
        if states.len() != self.batch {
            let (expected, got) = (self.batch, states.len());
            return Err(NnError::Length { op: "training_states", tensor: "a batch", expected, got });
        }
        q.write(&states.iter().flat_map(TrainingState::losses).copied().collect::<Vec<_>>(), self.losses.view_mut())?;
        q.write(&states.iter().flat_map(TrainingState::norms).copied().collect::<Vec<_>>(), self.norms.view_mut())?;
        q.write(&states.iter().flat_map(TrainingState::scalars).collect::<Vec<_>>(), self.scalars.view_mut())?;
        let recorded: Vec<u64> = states.iter().flat_map(|state| [state.step(); 2]).collect();
        Ok(q.write(&recorded, self.recorded.view_mut())?)
    }

    /// Number of trainings.
    #[must_use]
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// Writes the features, `[batch, 64]`; see [`TrainingFeatures`] for what they are.
    ///
    /// A training that has not begun has features that are NaN.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] or [`NnError::InvalidStride`] for a result with another layout,
    /// [`NnError::Backend`] from the device.
    pub fn features(&self, q: &Q, features: TensorMut<'_, Q, f32>) -> Result<()>
    where
        Q: CorrectionOps,
    {
        let features = features.planned("features", "features", &Layout::contiguous(&[self.batch, WIDTH])?)?;
        Ok(q.training_features(TrainingFeatures { batch: self.batch, records: self.records(), features })?)
    }

    fn records(&self) -> TrainingRecords<'_, Q> {
        TrainingRecords {
            losses: self.losses.view(),
            norms: self.norms.view(),
            scalars: self.scalars.view(),
            recorded: self.recorded.view(),
        }
    }
}

debug_fields!(TrainingStates<Q: Queue> batch);

/// Where the results of an encoder go.
#[derive(Debug)]
pub struct EncoderResults<'a, Q: Queue + 'a> {
    /// The features, `[batch, 64]`, if they are wanted.
    pub features: Option<TensorMut<'a, Q, f32>>,
    /// The codes, `[batch, outputs]`.
    pub codes: TensorMut<'a, Q, f32>,
}

/// A checked encoder of trainings: features f become codes `relu(f W + b)`, in one launch.
///
/// [`TrainingStates`] has an example. For features computed before, a
/// [`LinearPlan`](crate::LinearPlan) gives the same codes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EncoderPlan {
    params: EncodeParams,
    weights: Layout,
    bias: Layout,
    features: Layout,
    codes: Layout,
}

impl EncoderPlan {
    /// A plan for `batch` trainings and codes of `outputs` elements.
    ///
    /// # Errors
    /// [`NnError::Overflow`] if the elements of a tensor cannot be counted.
    pub fn new(batch: usize, outputs: usize) -> Result<Self> {
        Ok(Self {
            params: EncodeParams { batch: batch as u64, outputs: outputs as u64 },
            weights: Layout::contiguous(&[WIDTH, outputs])?,
            bias: Layout::contiguous(&[outputs])?,
            features: Layout::contiguous(&[batch, WIDTH])?,
            codes: Layout::contiguous(&[batch, outputs])?,
        })
    }

    /// Writes the codes, and optionally the features.
    ///
    /// `weights` are `[64, outputs]`, `bias` is `[outputs]`. Codes do not depend on the other
    /// trainings; features with NaN give codes of NaN.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] or [`NnError::InvalidStride`] for a tensor with another layout
    /// and for another number of trainings, [`NnError::Backend`] from the device.
    pub fn run<Q: CorrectionOps>(
        &self,
        q: &Q,
        states: &TrainingStates<Q>,
        weights: TensorRef<'_, Q, f32>,
        bias: TensorRef<'_, Q, f32>,
        results: EncoderResults<'_, Q>,
    ) -> Result<()> {
        const OP: &str = "encode_states";
        self.features.admit(OP, "the features of the batch", &Layout::contiguous(&[states.batch, WIDTH])?)?;
        let (weights, bias) = (weights.planned(OP, "weights", &self.weights)?, bias.planned(OP, "bias", &self.bias)?);
        let features = results.features.planned(OP, "features", &self.features)?;
        let codes = results.codes.planned(OP, "codes", &self.codes)?;
        let (params, records) = (&self.params, states.records());
        Ok(q.encode_states(EncodeStates { params, records, weights, bias, features, codes })?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_and_weights_of_other_sizes_are_refused() {
        let q = runtime::cpu().unwrap();
        let mut states = TrainingStates::new(&q, &[TrainingState::new(), TrainingState::new()]).unwrap();
        let expected = NnError::Length { op: "training_states", tensor: "a batch", expected: 2, got: 1 };
        assert_eq!(states.write(&q, &[TrainingState::new()]), Err(expected));
        let (w, b, mut codes) = (q.zeros(64 * 3).unwrap(), q.zeros(3).unwrap(), q.zeros(9).unwrap());
        let mut run = |batch: usize, outputs: usize| {
            let weights = TensorRef::contiguous(w.view(), &[64, 3])?;
            let bias = TensorRef::contiguous(b.view(), &[3])?;
            let codes = TensorMut::contiguous(codes.view_mut(), &[batch, outputs])?;
            EncoderPlan::new(batch, outputs)?.run(&q, &states, weights, bias, EncoderResults { features: None, codes })
        };
        assert_eq!(run(2, 3), Ok(()));
        for (batch, outputs, of) in [(3, 3, "the features of the batch"), (2, 2, "weights")] {
            let refused = run(batch, outputs);
            assert!(matches!(&refused, Err(NnError::ShapeMismatch { tensor, .. }) if *tensor == of), "{refused:?}");
        }
    }
}
