//! The device memory of a job.

mod bytes;
mod combining;
pub(super) mod footprint;
