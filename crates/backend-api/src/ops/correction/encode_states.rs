//! Codes of trainings.

use core_types::params::correction::{EncodeParams, FEATURES};

use super::TrainingRecords;
use crate::{
    BackendError, Queue,
    ops::{Op, linalg::shape::elements, op},
};

op! {
    /// Codes of trainings, `relu(f W + b)`.
    ///
    /// `f` are the features of a training, as in [`TrainingFeatures`](super::TrainingFeatures).
    /// Sums begin with b and run over the features in their order. A code does not depend on the
    /// other trainings. A NaN feature makes the code NaN.
    pub struct EncodeStates<'a, Q> as "encode_states" {
        /// Sizes.
        params: plain &'a EncodeParams,
        /// The records of the trainings.
        records: views TrainingRecords<'a, Q>,
        /// W, `[64, outputs]`.
        weights: read f32,
        /// b, `[outputs]`.
        bias: read f32,
        /// The features, `[batch, 64]`.
        features: write_if f32,
        /// `[batch, outputs]`.
        codes: write f32,
    }
}

impl<Q: Queue> EncodeStates<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`CorrectionOps`](super::CorrectionOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let EncodeParams { batch, outputs } = *self.params;
        let [losses, norms, scalars, recorded] = TrainingRecords::<Q>::lengths(batch);
        let (weights, bias) = (elements(&[FEATURES, outputs]), elements(&[outputs]));
        let (features, codes) = (elements(&[batch, FEATURES]), elements(&[batch, outputs]));
        self.expect([losses, norms, scalars, recorded, weights, bias, features, codes])
    }
}
