//! Programs of AIRs as text that the driver compiles: what the text is, when it is compiled, and how long it is held.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod held;
mod job;
mod mutants;
mod text;
