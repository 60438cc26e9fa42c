//! Proofs as recorded submissions.

pub(crate) mod graph;
pub(crate) mod graph_pair;
pub(crate) mod submission;
