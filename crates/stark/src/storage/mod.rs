//! The memory of a prover, and its plan.

pub(crate) mod answers;
pub(crate) mod coefficients;
pub(crate) mod host;
pub(crate) mod memory;
pub(crate) mod memory_plan;
pub(crate) mod planned;
