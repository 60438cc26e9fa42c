//! Proofs of statements and by sessions: bytes, files, memory, graphs, several devices, and failures.
//!
//! A process has one simulated driver, and tests take turns at it.
#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

#[path = "../../stark-verifier/tests/main/common/committed.rs"]
mod committed;
mod common;
mod devices;
mod faults;
mod files;
mod grid;
mod host_columns;
mod many;
mod memory;
#[path = "../../stark-fft/tests/queues.rs"]
mod queues;
mod replays;
mod samples;
mod session;
mod soak;
#[path = "../../stark-verifier/tests/main/common/stated.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod stated;
#[path = "../../../vectors/stwo/src/statement.rs"]
#[allow(dead_code, missing_docs, missing_debug_implementations, unreachable_pub, reason = "shared with other programs")]
mod statement;
mod statements;
