//! AIRs of stwo's framework, recorded: held to stwo's evaluator and to proofs of stwo's prover.

#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

mod accepted;
mod borrowed;
mod framework;
mod operations;
mod proofs;
mod recorded;
mod refused;
mod unconstrained;

use borrowed::{airs, committed, components, interpreter, look_ups, random_point, stated, statement, traces};
