//! The suite on the processor and on the simulated driver, and its peers.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod cpu;
mod peers;
mod sim;
