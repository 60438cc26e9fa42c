//! Ensembles of recurrent units that predict losses, and what their members agree on.

mod plan;
mod summary;

pub use plan::{RssmPlan, RssmResults, RssmSpec};
pub use summary::{RssmSummary, TrajectoryMetrics};
