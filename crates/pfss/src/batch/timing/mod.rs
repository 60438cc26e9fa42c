//! Times and counters of a super-batch.

pub(super) mod counters;
pub(super) mod device_times;
pub(super) mod meter;
pub(super) mod times;
