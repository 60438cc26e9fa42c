//! The executor of tasks, and the planners of its phases and layers.

pub(super) mod chain;
pub(super) mod executor;
pub(super) mod layer;
pub(super) mod phase;
pub(super) mod port;
