//! The correction op set.

mod apply;
mod encode;
mod estimate;
mod features;
mod product;
mod similar;
mod store;

use backend_api::{
    BackendError,
    ops::correction::{
        ApplyCorrection, ApplyCorrectionInPlace, EncodeStates, EstimateResiduals, SimilarStates, StoreStates,
        TrainingFeatures,
    },
};

use crate::CpuQueue;
use crate::checked::CorrectionOps;

impl CorrectionOps for CpuQueue {
    fn apply_correction(&self, op: ApplyCorrection<'_, Self>) -> Result<(), BackendError> {
        apply::run(self, op.params, Some(op.predictions), [op.a, op.b], op.y);
        Ok(())
    }

    fn apply_correction_in_place(&self, op: ApplyCorrectionInPlace<'_, Self>) -> Result<(), BackendError> {
        apply::run(self, op.params, None, [op.a, op.b], op.predictions);
        Ok(())
    }

    fn encode_states(&self, op: EncodeStates<'_, Self>) -> Result<(), BackendError> {
        encode::run(self, op)
    }

    fn estimate_residuals(&self, op: EstimateResiduals<'_, Self>) -> Result<(), BackendError> {
        estimate::run(op);
        Ok(())
    }

    fn similar_states(&self, op: SimilarStates<'_, Self>) -> Result<(), BackendError> {
        similar::run(self, op)
    }

    fn store_states(&self, op: StoreStates<'_, Self>) -> Result<(), BackendError> {
        store::run(self, op);
        Ok(())
    }

    fn training_features(&self, op: TrainingFeatures<'_, Self>) -> Result<(), BackendError> {
        features::run(self, op.records, op.features);
        Ok(())
    }
}
