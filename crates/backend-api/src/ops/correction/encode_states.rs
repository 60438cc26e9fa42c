//! Codes of trainings.

use core_types::params::correction::{EncodeParams, FEATURES};

use super::TrainingRecords;
use crate::ops::op;

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
        records: views TrainingRecords<'a, Q> [batch],
        /// W.
        weights: read f32 [FEATURES, outputs],
        /// b.
        bias: read f32 [outputs],
        /// The features.
        features: write_if f32 [batch, FEATURES],
        /// The codes.
        codes: write f32 [batch, outputs],
    }
    sizes(self) {
        let EncodeParams { batch, outputs } = *self.params;
    }
}
