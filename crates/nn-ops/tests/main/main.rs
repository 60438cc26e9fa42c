//! The operators and networks of the crate against models in f64, and what they refuse.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bert;
mod common;
mod cycle;
mod depths;
mod functional;
mod goldens;
mod gru;
mod import;
mod networks;
mod optimizers;
mod refused;
mod rollouts;
mod soak;
mod step;
mod training;
mod truncation;
