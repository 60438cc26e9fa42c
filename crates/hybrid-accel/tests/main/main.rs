//! The calls of the accelerator against models in f64 and numbers of the original, on the processor and on the simulated device,
//! and the loop on a real network.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod calls;
mod common;
mod device;
mod digits;
mod features;
mod model;
mod phases;
mod refused;
