//! Statements: their provers, their verifier, and the distribution of proofs to devices.

pub(crate) mod error;
pub(crate) mod in_turn;
pub(crate) mod inputs;
pub(crate) mod jobs;
pub(crate) mod many;
pub(crate) mod memory;
pub(crate) mod options;
pub(crate) mod proof;
pub(crate) mod prover;
pub(crate) mod relations;
pub(crate) mod trace_source;
pub(crate) mod verify;
