//! Results do not depend on the number of threads.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod linalg_threads;
mod tensor_threads;
