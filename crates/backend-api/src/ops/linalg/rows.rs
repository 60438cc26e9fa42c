use crate::Queue;

/// Ops on the rows of a matrix.
pub trait RowOps: Queue {}
