//! Launches of the kernels of STARK proofs: transforms, trees, constraints, channel.

pub(crate) mod air;
pub(crate) mod channel;
pub(crate) mod circle;
pub(crate) mod deep;
pub(crate) mod merkle;
pub(crate) mod open;
