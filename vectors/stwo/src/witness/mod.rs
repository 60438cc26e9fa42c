//! Traces and interaction columns of statements.

pub mod blake2s_trace;
pub mod interaction;
pub mod rows;
pub mod trace;
