//! Kernels that no op uses: canaries, random programs and samples of families.
//!
//! Crate `device-trials` holds the first two.

pub(super) mod canary;
pub(super) mod differential;
pub(super) mod sample;
