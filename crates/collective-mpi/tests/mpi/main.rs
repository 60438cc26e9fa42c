//! Ranks that `mpirun` starts as processes: they exchange data by the definitions, or fail
//! together.
#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

mod brought;
#[path = "../../../collective/tests/definitions/mod.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod definitions;
mod ended;
mod start;
