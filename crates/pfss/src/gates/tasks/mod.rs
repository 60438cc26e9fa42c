//! The plans of tasks with additive results.

pub(crate) mod plan;
pub(crate) mod table;
mod task;
