//! What follows from a statement and the residency of its values, before any memory is taken.

use crate::{
    Component, ProverError, Residency, plan::neighbours::Neighbours, plan::samples::Samples,
    plan::shape::StatementShape,
};

/// What follows from a statement and the residency of its values.
#[derive(Clone, Debug)]
pub(crate) struct Outline {
    pub(crate) residency: Residency,
    pub(crate) shape: StatementShape,
    pub(crate) samples: Samples,
    pub(crate) neighbours: Neighbours,
}

impl Outline {
    /// `shape` is the shape of the statement with all values in memory, for one of the ranks.
    pub(crate) fn new(
        mut shape: StatementShape,
        components: &[Component],
        residency: Residency,
    ) -> Result<Self, ProverError> {
        shape.log_blocks = residency.log_blocks(&shape)?;
        shape.truncation = residency.truncation();
        shape.on_host = matches!(residency, Residency::Host(_));
        shape.partition_columns();
        shape.truncate();
        let samples = Samples::new(&shape);
        let neighbours = Neighbours::new(&shape, components);
        let words =
            [shape.values_with_planes(), shape.values_in_block() + neighbours.gathered, shape.values_with_rounds()];
        shape.slot_words = words.into_iter().fold(0, usize::max);
        Ok(Self { residency, shape, samples, neighbours })
    }
}
