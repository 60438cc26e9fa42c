//! The record of a training, on the host.

use core_types::params::correction::{LOSSES, NORMS, SCALARS, Scalar};

/// The current phase of a training.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrainingPhase {
    /// The first steps.
    #[default]
    Warmup,
    /// Steps with gradients.
    Full,
    /// Steps that are predicted.
    Predict,
    /// Predictions are corrected.
    Correct,
}

/// What an optimizer's state comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OptimizerSummary {
    /// Mean of the first moments.
    pub momentum_mean: f32,
    /// Their standard deviation.
    pub momentum_deviation: f32,
    /// Mean of the second moments.
    pub variance_mean: f32,
    /// Their standard deviation.
    pub variance_deviation: f32,
    /// The rate of the schedule.
    pub rate: f32,
    /// The factor of the first moment to the power of the steps.
    pub beta1_power: f32,
    /// The factor of the second moment to the power of the steps.
    pub beta2_power: f32,
}

/// The record of a training: its last 256 losses, last 64 gradient norms, and scalars.
///
/// [`TrainingStates`](crate::TrainingStates) shows how features are derived from it.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingState {
    losses: Vec<f32>,
    norms: Vec<f32>,
    step: u64,
    loss: f32,
    norm: f32,
    phase: TrainingPhase,
    phase_step: u64,
    /// Summary of the optimizer's state.
    pub optimizer: OptimizerSummary,
}

impl Default for TrainingState {
    fn default() -> Self {
        Self::new()
    }
}

impl TrainingState {
    /// A training that has not begun: its loss and the norm of its gradient are NaN.
    #[must_use]
    pub fn new() -> Self {
        Self {
            losses: vec![0.0; LOSSES as usize],
            norms: vec![0.0; NORMS as usize],
            step: 0,
            loss: f32::NAN,
            norm: f32::NAN,
            phase: TrainingPhase::Warmup,
            phase_step: 0,
            optimizer: OptimizerSummary::default(),
        }
    }

    /// Records a step's loss and the norm of its gradient.
    pub fn record_step(&mut self, loss: f32, gradient_norm: f32) {
        self.losses[(self.step % LOSSES) as usize] = loss;
        self.norms[(self.step % NORMS) as usize] = gradient_norm;
        (self.loss, self.norm) = (loss, gradient_norm);
        self.step += 1;
        self.phase_step += 1;
    }

    /// Begins a phase.
    pub fn enter_phase(&mut self, phase: TrainingPhase) {
        (self.phase, self.phase_step) = (phase, 0);
    }

    /// Steps so far.
    #[must_use]
    pub fn step(&self) -> u64 {
        self.step
    }

    /// The ring of losses.
    pub(super) fn losses(&self) -> &[f32] {
        &self.losses
    }

    /// The ring of norms.
    pub(super) fn norms(&self) -> &[f32] {
        &self.norms
    }

    /// The scalars of the record.
    pub(super) fn scalars(&self) -> [f32; SCALARS as usize] {
        let mut all = [0.0; SCALARS as usize];
        let optimizer = &self.optimizer;
        let phase = match self.phase {
            TrainingPhase::Warmup => 0.0,
            TrainingPhase::Full => 1.0,
            TrainingPhase::Predict => 2.0,
            TrainingPhase::Correct => 3.0,
        };
        for (scalar, value) in [
            (Scalar::Loss, self.loss),
            (Scalar::Step, self.step as f32),
            (Scalar::Norm, self.norm),
            (Scalar::MomentumMean, optimizer.momentum_mean),
            (Scalar::MomentumDeviation, optimizer.momentum_deviation),
            (Scalar::VarianceMean, optimizer.variance_mean),
            (Scalar::VarianceDeviation, optimizer.variance_deviation),
            (Scalar::Rate, optimizer.rate),
            (Scalar::Beta1Power, optimizer.beta1_power),
            (Scalar::Beta2Power, optimizer.beta2_power),
            (Scalar::Phase, phase),
            (Scalar::PhaseStep, self.phase_step as f32),
        ] {
            all[scalar as usize] = value;
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_counts_its_own_steps() {
        let mut training = TrainingState::new();
        training.record_step(2.0, 1.0);
        training.enter_phase(TrainingPhase::Predict);
        training.record_step(1.0, 0.5);
        let scalars = training.scalars();
        let found = [Scalar::Step, Scalar::Phase, Scalar::PhaseStep].map(|scalar| scalars[scalar as usize]);
        assert_eq!(found, [2.0, 2.0, 1.0]);
    }
}
