//! Truncated singular value decompositions, and residuals that they compress.

mod factors;
mod options;
mod plan;
mod residual;
mod workspace;

pub use factors::SvdFactors;
pub use options::{SvdOptions, SvdPower};
pub use plan::SvdPlan;
pub use residual::{CompressedResidual, ResidualPlan};
pub use workspace::SvdWorkspace;
