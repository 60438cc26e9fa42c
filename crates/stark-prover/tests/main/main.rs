//! Proofs held to those that stwo's prover made of the same traces.

#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

#[path = "../../../stark-verifier/tests/main/common/airs.rs"]
mod airs;
mod claimed_sums;
mod graphs;
mod interaction;
mod prove;
mod refused;
mod relations;
mod rows;
#[path = "../../../../vectors/stwo/src/statement.rs"]
#[allow(
    dead_code,
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    reason = "written for a program of its own"
)]
mod statement;
mod traces;
mod vectors;
mod waits;
