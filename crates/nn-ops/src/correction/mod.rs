//! Corrections of predicted losses by the residuals of stored states.
//!
//! They use features of trainings and their codes, and estimates from the residuals.

mod apply;
mod plan;
mod state;
mod states;
mod store;

pub use apply::{CorrectionEstimates, apply_correction, apply_correction_in_place};
pub use plan::{CorrectionOperands, CorrectionOptions, CorrectionPlan, CorrectionWorkspace};
pub use state::{OptimizerSummary, TrainingPhase, TrainingState};
pub use states::{EncoderPlan, EncoderResults, TrainingStates};
pub use store::{ResidualStore, SimilarStates};
