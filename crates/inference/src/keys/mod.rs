//! Keys of a model on a batch: the deals, their plan, the queue that hands them out.
//!
//! Keys of runs on opened weights are apart from these.

pub(crate) mod deal;
pub(crate) mod opened;
pub(crate) mod plan;
pub(crate) mod queue;
pub(crate) mod stored;
