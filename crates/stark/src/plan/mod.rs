//! Facts that follow from a statement before any memory is allocated.

pub(crate) mod component;
pub(crate) mod generated;
pub(crate) mod interaction;
pub(crate) mod layer;
pub(crate) mod neighbours;
pub(crate) mod outline;
pub(crate) mod rank_blocks;
pub(crate) mod ranks;
pub(crate) mod residency;
pub(crate) mod samples;
pub(crate) mod shape;
pub(crate) mod truncated;
pub(crate) mod truncation;
