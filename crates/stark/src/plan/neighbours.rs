//! Committed values at neighbouring rows, if only blocks of the values are in memory.
//!
//! The neighbours of a block lie in other blocks. The few columns that are read at other rows
//! therefore have separate planes. The values that a block reads of them are gathered next to its
//! own.

use core_types::{
    air::neighbour,
    field::M31,
    params::{air::MaskAt, columns::ColumnAt},
};

use crate::{
    Component,
    plan::shape::{ColumnShape, StatementShape},
};

/// A column that is read at neighbouring rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NeighbourPlane {
    pub(crate) coefficients: ColumnAt,
    pub(crate) values: ColumnAt,
    /// The first word of its values where constraints are evaluated, within the planes.
    pub(crate) first: usize,
}

/// Rows from the row at hand to another, in traces of one height.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowOffset {
    pub(crate) log_rows: u32,
    pub(crate) offset: i32,
}

/// A gather: a plane, and the step whose keys it takes, by their numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NeighbourGather {
    pub(crate) plane: usize,
    pub(crate) step: usize,
}

/// The masks of components at neighbouring rows. Empty if all values are in memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Neighbours {
    pub(crate) planes: Vec<NeighbourPlane>,
    pub(crate) steps: Vec<RowOffset>,
    /// For each component, its masks at other rows, in their order.
    pub(crate) gathers: Vec<Vec<NeighbourGather>>,
    /// Words of all planes.
    pub(crate) words: usize,
    /// Words that the gathers of one component write for a block, at most.
    pub(crate) gathered: usize,
}

impl Neighbours {
    pub(crate) fn new(shape: &StatementShape, components: &[Component]) -> Self {
        let mut neighbours = Self::default();
        if shape.log_blocks == 0 {
            return neighbours;
        }
        for (index, component) in components.iter().enumerate() {
            let masks = component.air.constraint_program().masks().iter().filter(|mask| mask.offset != 0);
            let log_rows = component.air.log_rows();
            let gathers: Vec<NeighbourGather> = masks
                .map(|mask| NeighbourGather {
                    plane: neighbours.plane(shape.column(index, component, &mask.source)),
                    step: neighbours.step(RowOffset { log_rows, offset: mask.offset }),
                })
                .collect();
            neighbours.gathered = neighbours.gathered.max(gathers.len() << shape.log_block(log_rows));
            neighbours.gathers.push(gathers);
        }
        neighbours
    }

    fn plane(&mut self, column: &ColumnShape) -> usize {
        let ColumnShape { coefficients, values, .. } = *column;
        let known = self.planes.iter().position(|plane| plane.coefficients.first == coefficients.first);
        known.unwrap_or_else(|| {
            self.planes.push(NeighbourPlane { coefficients, values, first: self.words });
            self.words += 2 << coefficients.log_len;
            self.planes.len() - 1
        })
    }

    fn step(&mut self, step: RowOffset) -> usize {
        self.steps.iter().position(|known| *known == step).unwrap_or_else(|| {
            self.steps.push(step);
            self.steps.len() - 1
        })
    }
}

impl StatementShape {
    /// The masks of a component's constraints in the values in memory.
    ///
    /// The gathered neighbours of a block lie behind its values.
    pub(crate) fn constraint_masks(&self, index: usize, component: &Component) -> Vec<MaskAt> {
        let mut gathered = self.values_in_block() as u64;
        let size = 1 << self.log_block(component.air.log_rows());
        let masks = component.air.constraint_program().masks().iter().map(|mask| {
            if mask.offset != 0 && self.log_blocks > 0 {
                gathered += size;
                return MaskAt { first: gathered - size, offset: 0, reserved: 0 };
            }
            let ColumnAt { first, .. } = self.in_block(self.column(index, component, &mask.source).values);
            MaskAt { first, offset: mask.offset, reserved: 0 }
        });
        masks.collect()
    }
}

impl RowOffset {
    /// Where constraints are evaluated: log of the number of positions.
    pub(crate) const fn log_positions(self) -> u32 {
        self.log_rows + 1
    }

    /// The position that the step leads to from each of `positions`.
    pub(crate) fn keys(self, positions: core::ops::Range<u32>) -> Vec<M31> {
        let to = |position| neighbour(position, self.log_positions(), self.log_rows, self.offset);
        positions.map(|position| M31::from_u32(to(position))).collect()
    }
}
