//! Statements, their traces, and proofs of them by stwo's SIMD prover.

pub mod airs;
pub mod blake2s;
pub mod components;
pub mod config;
pub mod fingerprint;
pub mod prove;
pub mod shipped;
pub mod statement;
pub mod timed;
pub mod truths;
pub mod verify;
pub mod witness;
