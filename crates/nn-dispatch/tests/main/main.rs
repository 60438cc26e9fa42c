//! The ops against models in f64 on the processor and on the simulated device, and how they are dispatched.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;
mod devices;
mod elements;
mod handles;
mod lost;
mod parity;
mod products;
mod rows;
mod soak;
