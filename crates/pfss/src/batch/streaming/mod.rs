//! The queues of a pipeline, and the streaming of keys through them.

pub(super) mod ref_or_arc;
pub(super) mod stager;
pub(super) mod stream;
