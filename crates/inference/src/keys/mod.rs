//! Keys of a model on a batch: the deals, their plan, and the queue that hands them out.

pub(crate) mod deal;
pub(crate) mod plan;
pub(crate) mod queue;
