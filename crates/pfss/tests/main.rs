//! Gates, descriptors, functions, sessions and batches.
//!
//! Tests on the simulated driver take turns at it, and tests that watch the allocator run in separate processes.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod backends;
mod batch;
mod common;
mod descriptors;
mod device_shares;
mod differential;
mod functions;
mod gates;
mod leaks;
mod malformed;
mod matrices;
mod predicates;
mod seeded;
mod session;
mod softmax;
mod suf;
mod wiping;
mod wires;
