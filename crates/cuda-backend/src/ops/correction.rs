//! The correction op set, with one launch for each op.
//!
//! The nearest-neighbour search also joins the lists of the parts of a ring.

use backend_api::{
    BackendError, Buffer as _, Queue as _,
    ops::correction::{
        ApplyCorrection, ApplyCorrectionInPlace, EncodeStates, EstimateResiduals, SimilarStates, StoreStates,
        TrainingFeatures,
    },
};
use core_types::params::correction::SimilarParams;

use crate::checked::CorrectionOps;
use crate::{CudaQueue, launch::nn::correction};

/// Minimum states that a block goes through, and the granularity of parts.
///
/// It is the number of states that the block's warps take at once.
const LEAST_PART: u64 = 256;
/// Most parts of a ring.
///
/// With a query, they keep a card busy, and one warp can join their lists.
const MOST_PARTS: u64 = 512;

impl CorrectionOps for CudaQueue {
    fn apply_correction(&self, op: ApplyCorrection<'_, Self>) -> Result<(), BackendError> {
        correction::apply(self, op.params, op.predictions, [op.a, op.b], &op.y)
    }

    fn apply_correction_in_place(&self, op: ApplyCorrectionInPlace<'_, Self>) -> Result<(), BackendError> {
        let y = op.predictions;
        correction::apply(self, op.params, y.as_ref(), [op.a, op.b], &y)
    }

    fn encode_states(&self, op: EncodeStates<'_, Self>) -> Result<(), BackendError> {
        let (batch, outputs) = (op.params.batch, op.params.outputs);
        if batch == 0 {
            return Ok(());
        }
        if outputs == 0 {
            let Some(features) = op.features else { return Ok(()) };
            let (batch, records) = (batch as usize, op.records);
            return correction::features(self, &TrainingFeatures { batch, records, features });
        }
        if outputs >= 1 << 22 || batch >= 1 << 31 {
            return Err(BackendError::Unsupported {
                op: "encode_states",
                why: "an axis has more elements than a grid can cover",
            });
        }
        correction::encode(self, &op)
    }

    fn estimate_residuals(&self, op: EstimateResiduals<'_, Self>) -> Result<(), BackendError> {
        correction::estimate(self, &op)
    }

    fn similar_states(&self, op: SimilarStates<'_, Self>) -> Result<(), BackendError> {
        let SimilarParams { capacity, width, queries, count } = *op.params;
        if queries == 0 || count == 0 {
            return Ok(());
        }
        if queries >= 1 << 31 || width >= 1 << 31 {
            let why = "expected fewer than 2^31 queries and features";
            return Err(BackendError::Unsupported { op: "similar_states", why });
        }
        let part_len = capacity.div_ceil(MOST_PARTS).next_multiple_of(LEAST_PART);
        let parts = capacity.div_ceil(part_len);
        let mut words = self.alloc((parts * queries * count) as usize)?; // at most 2^9, 2^31 and 2^5
        correction::similar(self, &op, [parts, part_len], &words.view_mut())?;
        correction::similar_join(self, &op, parts as u32, words.view())
    }

    fn store_states(&self, op: StoreStates<'_, Self>) -> Result<(), BackendError> {
        if op.params.width >= 1 << 31 {
            return Err(BackendError::Unsupported {
                op: "store_states",
                why: "expected states of fewer than 2^31 features",
            });
        }
        correction::store(self, &op)
    }

    fn training_features(&self, op: TrainingFeatures<'_, Self>) -> Result<(), BackendError> {
        if op.batch as u64 >= 1 << 31 {
            return Err(BackendError::Unsupported {
                op: "training_features",
                why: "expected fewer than 2^31 trainings",
            });
        }
        correction::features(self, &op)
    }
}
