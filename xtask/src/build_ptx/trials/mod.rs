//! Kernels that no op uses: canaries and random programs, for crate `device-trials`.

pub(super) mod canary;
pub(super) mod differential;
