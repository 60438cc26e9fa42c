//! The interface between the loop and a model in training.

use nn_ops::OptimizerSummary;

use crate::error::AccelError;

/// The outcome of a step with gradients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepOutcome {
    /// Mean loss of the batch, from before the step.
    pub loss: f32,
    /// Norm of all gradients.
    pub gradient_norm: f32,
    /// Summary of the optimizer after the step.
    pub optimizer: OptimizerSummary,
}

/// A model in training.
pub trait HybridModel {
    /// Takes a step with gradients on the next batch.
    ///
    /// # Errors
    /// [`AccelError::Model`] with the model's own reason, or the error of an operator.
    fn full_step(&mut self) -> Result<StepOutcome, AccelError>;

    /// The loss on fixed rows at the current weights, without gradients.
    ///
    /// # Errors
    /// As [`full_step`](Self::full_step).
    fn probe(&mut self) -> Result<f32, AccelError>;

    /// All weights: the tensors of [`shapes`](Self::shapes), row-major, one after the other.
    ///
    /// # Errors
    /// As [`full_step`](Self::full_step).
    fn weights(&self) -> Result<Vec<f32>, AccelError>;

    /// Replaces all weights, given as by [`weights`](Self::weights). The optimizer's state stays.
    ///
    /// # Errors
    /// As [`full_step`](Self::full_step), also for another number of weights.
    fn set_weights(&mut self, weights: &[f32]) -> Result<(), AccelError>;

    /// The shapes of the tensors, in the order of [`weights`](Self::weights).
    ///
    /// Residuals of those with two axes are compressed and applied.
    fn shapes(&self) -> Vec<Vec<usize>>;
}
