//! Ranks that `mpirun` starts as processes: they exchange data by the definitions, or fail
//! together.
#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

mod brought;
mod ended;
mod start;
