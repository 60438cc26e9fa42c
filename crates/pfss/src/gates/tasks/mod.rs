//! The plans of tasks with additive results.

pub(super) mod evaluation;
pub(crate) mod plan;
pub(crate) mod table;
mod task;
