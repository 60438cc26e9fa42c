//! Proof of the executor: every operation against scalar references, and programs that must or must not pass each
//! checker.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

mod hazards;
mod memory_faults;
mod programs;
mod races;
mod rig;
mod shipped;
mod stuck;
