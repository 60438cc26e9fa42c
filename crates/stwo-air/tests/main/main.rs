//! AIRs of stwo's framework, recorded: held to stwo's evaluator and to proofs of stwo's prover.

#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

/// The height of a test AIR, and the degree bound of quadratic constraints on it.
macro_rules! heights {
    ($log_rows:literal) => {
        fn log_size(&self) -> u32 {
            $log_rows
        }

        fn max_constraint_log_degree_bound(&self) -> u32 {
            $log_rows + 1
        }
    };
}

mod accepted;
mod borrowed;
mod framework;
mod operations;
mod proofs;
mod recorded;
mod refused;
mod unconstrained;

use borrowed::{airs, committed, components, interpreter, look_ups, random_point, stated, statement, traces};
