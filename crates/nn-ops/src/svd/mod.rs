//! Truncated singular value decompositions.

mod factors;
mod options;
mod plan;
mod workspace;

pub use factors::SvdFactors;
pub use options::{SvdOptions, SvdPower};
pub use plan::SvdPlan;
pub use workspace::SvdWorkspace;
