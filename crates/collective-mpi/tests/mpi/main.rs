//! Ranks that are processes, started by `mpirun`: they bring each other what the definitions say, or end together.
#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

mod brought;
mod ended;
mod start;
