//! The suite on the simulated driver: the PTX and the host code that ship, and with faults put into the kernels.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod mutants;
mod programs;
mod residuals;
mod rollouts;
mod small;
