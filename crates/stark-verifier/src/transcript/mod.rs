//! The transcript, its hash, and the queries drawn from it.

pub(crate) mod channel;
pub(crate) mod digest;
pub(crate) mod queries;
