//! Statements, their traces, and proofs of them by stwo's SIMD prover.

pub mod airs;
pub mod blake2s;
pub mod blake2s_trace;
pub mod components;
pub mod config;
pub mod fibonacci;
pub mod fingerprint;
pub mod interaction;
pub mod permutations;
pub mod prove;
pub mod rows;
pub mod shipped;
pub mod statement;
pub mod trace;
pub mod truths;
pub mod verify;
