//! A tape: values recorded in the order of their computation, and their gradients.

mod backward;
mod node;
mod ops;
mod record;
mod tensors;
mod var;
mod views;

pub use backward::VariableGradients;
pub use record::Tape;
pub use var::Var;
