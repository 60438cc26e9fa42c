//! Corrections of predictions by the residuals of similar states.
//!
//! The ops compute features of trainings and their codes, store states with their residuals in a
//! ring, and estimate corrections from them.

mod apply_correction;
mod apply_correction_in_place;
mod encode_states;
mod estimate_residuals;
mod similar_states;
mod store_states;
mod training_features;
mod training_records;

pub use apply_correction::ApplyCorrection;
pub use apply_correction_in_place::ApplyCorrectionInPlace;
pub use encode_states::EncodeStates;
pub use estimate_residuals::EstimateResiduals;
pub use similar_states::SimilarStates;
pub use store_states::StoreStates;
pub use training_features::TrainingFeatures;
pub use training_records::TrainingRecords;

pub use super::sets::CorrectionOps;
