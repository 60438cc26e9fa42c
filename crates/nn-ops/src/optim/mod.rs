//! Training: the tensors of a model in one buffer, and optimisers that step in one launch.

mod arena;
mod config;
mod optimizer;
mod saved;
mod table;

pub use arena::ParameterArena;
pub use config::{Annealing, LossScale, OptimizerConfig, Rule, Schedule, WeightDecay};
pub use core_types::params::optim::StepState;
pub use optimizer::Optimizer;
pub use table::{ParameterId, ParameterSpec, ParameterTable};
