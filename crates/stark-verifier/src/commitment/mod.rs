//! Checks of openings: Merkle paths, DEEP quotients and FRI.

pub(crate) mod deep;
pub(crate) mod domain;
pub(crate) mod fri;
pub(crate) mod merkle;
