//! Training: the tensors of a model in one buffer, and optimisers that step in one launch.

pub(crate) mod arena;
pub(crate) mod config;
pub(crate) mod optimizer;
mod saved;
pub(crate) mod table;

pub use arena::ParameterArena;
pub use config::{Annealing, LossScale, OptimizerConfig, Rule, Schedule, WeightDecay};
pub use core_types::params::optim::StepState;
pub use optimizer::Optimizer;
pub use table::{ParameterId, ParameterSpec, ParameterTable};
