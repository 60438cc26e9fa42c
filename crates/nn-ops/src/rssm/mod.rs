//! Ensembles of recurrent units that predict losses, and what their members agree on.

mod plan;
mod summary;
mod tensors;
mod train;

pub use plan::{RssmDropout, RssmHead, RssmOperands, RssmPlan, RssmResults, RssmSpec};
pub use summary::{RssmSummary, TrajectoryMetrics};
pub use tensors::RssmTensors;
pub use train::{RssmTrainer, RssmTraining};
