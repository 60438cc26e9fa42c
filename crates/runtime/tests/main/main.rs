//! Queues of the runtime: the spans they emit, and the simulated driver as a choice of the user.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[cfg(feature = "cuda")]
mod simulated;
mod spans;
