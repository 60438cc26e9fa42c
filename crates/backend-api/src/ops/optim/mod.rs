//! Steps of optimisers.
//!
//! The tensors of a model lie in one buffer, so that a step is one launch, whatever their number.
//!
//! What changes from step to step is a record on the device
//! ([`StepState`](core_types::params::optim::StepState)): [`AdvanceStep`] takes it to the next step
//! and the others read it. A recorded step can be replayed, and nothing waits.

mod adam_step;
mod advance_step;
mod scale_loss;
mod sgd_step;
mod square_sums;

pub use adam_step::AdamStep;
pub use advance_step::AdvanceStep;
pub use scale_loss::ScaleLoss;
pub use sgd_step::SgdStep;
pub use square_sums::SquareSums;

pub use super::sets::OptimOps;
