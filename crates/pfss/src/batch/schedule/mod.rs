//! The executor of tasks, and the totals of its layers.

pub(super) mod chain;
pub(super) mod executor;
pub(super) mod layer;
pub(super) mod port;
