//! Corrections of forecasts by the residuals of earlier ones in similar states.

use nn_ops::{
    CorrectionOperands, CorrectionOptions, CorrectionPlan, CorrectionWorkspace, NnError, ResidualStore, Tensor,
};
use runtime::AnyQueue;

use super::forecaster::FeatureRow;
use crate::config::FEATURES;

/// States that are kept.
const CAPACITY: usize = 1000;

/// The forecasts of earlier steps with what came of them.
pub(super) struct LossCorrector {
    q: AnyQueue,
    store: ResidualStore<AnyQueue>,
    plan: CorrectionPlan,
    workspace: CorrectionWorkspace<AnyQueue>,
    /// The linear model, which is zero.
    model: Tensor<AnyQueue, f32>,
}

impl LossCorrector {
    pub(super) fn new(q: &AnyQueue) -> Result<Self, NnError> {
        let options = CorrectionOptions::default();
        let plan = CorrectionPlan::new(1, FEATURES, options)?;
        let coefficients = options.coefficients + 1;
        Ok(Self {
            store: ResidualStore::new(q, CAPACITY, FEATURES)?,
            workspace: plan.workspace(q)?,
            model: Tensor::from_values(q, &[coefficients], &vec![0.0; coefficients])?,
            plan,
            q: q.clone(),
        })
    }

    /// The loss predicted in a state, corrected.
    pub(super) fn correct(&mut self, features: &FeatureRow, step: u64, loss: f32) -> Result<f32, NnError> {
        let q = &self.q;
        let features = Tensor::from_values(q, &[1, FEATURES], features)?;
        let steps = Tensor::from_values(q, &[1], &[step as f32])?;
        let mut predicted = Tensor::from_values(q, &[1], &[loss])?;
        let operands = CorrectionOperands { features: features.at(), steps: steps.at(), model: self.model.at() };
        self.plan.correct(q, &self.store, operands, predicted.at_mut(), &mut self.workspace)?;
        Ok(predicted.values(q)?.first().copied().unwrap_or(loss))
    }

    /// Stores a state with its residual, the observed loss less the predicted one.
    pub(super) fn store(
        &mut self,
        features: &FeatureRow,
        step: u64,
        residual: f32,
        confidence: f32,
    ) -> Result<(), NnError> {
        let q = &self.q;
        let features = Tensor::from_values(q, &[1, FEATURES], features)?;
        let outcome = Tensor::from_values(q, &[1, 3], &[residual, step as f32, confidence])?;
        self.store.store(q, features.at(), outcome.at())
    }
}
