//! Proofs that stwo made, for this verifier and for stwo's: as they are, and changed.

#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

mod common;
mod framework;
mod refused;
mod vectors;

use common::stwo_side::statement;
