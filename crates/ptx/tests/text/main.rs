//! What the crate makes of texts: those that ship, samples of every feature, and broken ones.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod corpus;
mod flow;
mod lints;
mod malformed;
mod mutations;
mod opcodes;
mod rewriting;
mod samples;
mod syntax;
mod typing;
mod uniformity;
mod uniformity_random;
