//! The C interface: its header, a C++ program against it, and its errors.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod batch;
#[cfg(feature = "cuda")]
mod device;
mod example;
mod header;
#[cfg(feature = "cuda")]
mod machine;
mod misuse;
mod plans;
#[cfg(feature = "cuda")]
mod resident;
mod setup;
mod sigma;
mod suf;
mod symbols;
mod threads;
mod weights;
