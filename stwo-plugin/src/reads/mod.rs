//! Reads from the device, ahead of their use or one by one, and their counts.

pub(crate) mod ahead;
pub(crate) mod counts;
mod element;
pub(crate) mod queries;
pub(crate) mod samples;
