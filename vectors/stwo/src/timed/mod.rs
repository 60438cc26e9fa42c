//! Statements whose proofs by stwo are timed.

pub mod fibonacci;
pub mod permutations;
