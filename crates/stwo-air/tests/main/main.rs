//! AIRs of stwo's framework, recorded: held to stwo's evaluator, to the AIRs that ship, and to proofs of stwo's prover.

#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

mod accepted;
mod borrowed;
mod framework;
mod operations;
mod proofs;
mod recorded;
mod refused;
mod same;
mod unconstrained;

use borrowed::{airs, blake2s, check, components, interpreter, rows, shipped, stated, statement, traces};
