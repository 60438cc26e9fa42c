//! Streams, the recordings they serve, and marks in them.

pub(crate) mod graph;
pub(crate) mod record;
pub(crate) mod recording;
pub(crate) mod timed;
pub(crate) mod track;
