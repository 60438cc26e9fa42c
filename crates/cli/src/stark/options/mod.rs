//! Options of proofs: the computation, its parameters, memory and devices.

pub(super) mod config;
pub(super) mod devices;
pub(super) mod known;
pub(super) mod number;
pub(super) mod ranks;
pub(super) mod residency;
