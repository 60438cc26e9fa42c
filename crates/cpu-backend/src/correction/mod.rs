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
        ApplyCorrection, ApplyCorrectionInPlace, CorrectionOps, EncodeStates, EstimateResiduals, SimilarStates,
        StoreStates, TrainingFeatures,
    },
};

use crate::CpuQueue;

impl CorrectionOps for CpuQueue {
    fn apply_correction(&self, op: ApplyCorrection<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        apply::run(self, op.params, Some(op.predictions), [op.a, op.b], op.y);
        Ok(())
    }

    fn apply_correction_in_place(&self, op: ApplyCorrectionInPlace<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        apply::run(self, op.params, None, [op.a, op.b], op.predictions);
        Ok(())
    }

    fn encode_states(&self, op: EncodeStates<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        encode::run(self, op)
    }

    fn estimate_residuals(&self, op: EstimateResiduals<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        estimate::run(op);
        Ok(())
    }

    fn similar_states(&self, op: SimilarStates<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        similar::run(self, op)
    }

    fn store_states(&self, op: StoreStates<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        store::run(self, op);
        Ok(())
    }

    fn training_features(&self, op: TrainingFeatures<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        features::run(self, op.records, op.features);
        Ok(())
    }
}
