//! PTX texts: those that ship, samples of every feature, and broken ones.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod text;
