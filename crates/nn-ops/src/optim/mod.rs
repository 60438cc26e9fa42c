//! Training: the tensors of a model in one buffer, and optimizers that step in one launch.

mod arena;
mod config;
mod master;
mod optimizer;
mod precision;
mod saved;
mod table;

pub use arena::ParameterArena;
pub use config::{Annealing, LossScale, OptimizerConfig, Rule, Schedule, WeightDecay};
pub use core_types::params::optim::StepState;
pub use master::MasterWeights;
pub use optimizer::Optimizer;
pub use precision::Precision;
pub(crate) use precision::{
    layer_copy, layer_copy_mut, layer_weights, own_results, own_tensor, rounded, wide_arena, wide_mut, wide_ref,
};
pub use table::{ParameterId, ParameterSpec, ParameterTable};
