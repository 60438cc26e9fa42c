//! Proofs by sessions, held to those that stwo's prover made of the same traces.

#[path = "../../../stark-verifier/tests/main/common/airs.rs"]
mod airs;
mod claimed_sums;
mod graphs;
mod interaction;
mod prove;
mod refused;
mod relations;
pub(crate) mod traces;
mod vectors;
