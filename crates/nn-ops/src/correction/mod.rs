//! Corrections of predicted losses: features of trainings and their codes, states that are
//! remembered, and what their residuals say.

mod apply;
mod plan;
mod state;
mod states;
mod store;

pub use apply::{apply_correction, apply_correction_in_place};
pub use plan::{CorrectionOptions, CorrectionPlan, CorrectionWorkspace};
pub use state::{OptimizerSummary, TrainingPhase, TrainingState};
pub use states::{EncoderPlan, TrainingStates};
pub use store::{ResidualStore, SimilarStates};
