//! The operators and networks of the crate against models in f64, and what they refuse.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod depths;
mod descent;
mod ensemble;
mod import;
mod mlp;
mod step;
