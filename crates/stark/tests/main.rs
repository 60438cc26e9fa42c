//! Proofs of statements and by sessions: bytes, files, memory, graphs, several devices, and failures.
//!
//! A process has one simulated driver, and tests take turns at it.
#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

mod common;
mod devices;
mod faults;
mod files;
mod grid;
mod host_columns;
mod many;
mod memory;
mod replays;
mod session;
mod soak;
#[path = "../../../vectors/stwo/src/statement.rs"]
#[allow(
    dead_code,
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    reason = "written for a program of its own"
)]
mod statement;
mod statements;
