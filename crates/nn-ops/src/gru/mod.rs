//! Ensembles of gated recurrent units.

pub(crate) mod backward;
mod formats;
pub(crate) mod gradients;
pub(crate) mod member;
mod pass;
pub(crate) mod plan;
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
