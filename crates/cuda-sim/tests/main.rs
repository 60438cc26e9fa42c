//! The executor and the simulated driver.
//!
//! A process has one simulated driver, and tests take turns at it.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

mod canaries;
mod differential;
mod driver;
mod exec;
mod opcode_table;
