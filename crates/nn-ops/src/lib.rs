//! Dense neural-network operators, forward and backward.
#![forbid(unsafe_code)]

pub mod io;
