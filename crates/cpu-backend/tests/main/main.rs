//! Whole ops through a queue: every vector level against the others or a model, and every number of threads.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod levels;
mod linalg;
mod linalg_threads;
mod nn;
mod pfss;
mod queue;
mod reference;
mod scratch;
mod stark;
mod tensor_threads;
