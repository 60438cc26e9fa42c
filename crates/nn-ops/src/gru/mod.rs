//! Ensembles of gated recurrent units.

mod backward;
mod formats;
mod gradients;
mod member;
mod pass;
mod plan;
mod torch;
pub(crate) mod weights;

pub use backward::{GruGradients, GruUpstream};
pub use formats::{GruConcat, GruRows};
pub use gradients::{GruGradientPlan, GruGradientWorkspace, GruPassValues};
pub use member::{GruColumns, GruMember};
pub use pass::GruPass;
pub use plan::{GruPlan, GruResults};
pub use torch::TorchUnit;
pub use weights::GruWeights;
