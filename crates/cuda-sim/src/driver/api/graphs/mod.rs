//! Graphs, their nodes, and instantiated graphs.

pub(super) mod exec;
pub(super) mod graph;
pub(super) mod node;
