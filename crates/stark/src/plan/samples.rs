//! Samples outside the domain, and the terms of the quotients.

use std::collections::{BTreeMap, HashMap};

use core_types::{
    circle::CirclePointIndex,
    params::deep::{DeepBatch, DeepTerm, PointAt, SampleAt},
};

use crate::plan::shape::StatementShape;

/// The lists that the ops of sampling and of quotients take.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    pub(crate) points: Vec<PointAt>,
    /// The samples, in the order of the proof: tree, column, row.
    pub(crate) samples: Vec<SampleAt>,
    /// Terms of the quotients, batch by batch.
    pub(crate) terms: Vec<DeepTerm>,
    /// Batches, grouped by point, small columns first.
    pub(crate) batches: Vec<DeepBatch>,
}

/// Points, deduplicated by index and doublings.
#[derive(Default)]
struct DistinctPoints {
    list: Vec<PointAt>,
    places: HashMap<(u32, u32), u32>,
}

impl DistinctPoints {
    fn place(&mut self, index: CirclePointIndex, doublings: u32) -> u32 {
        let next = self.list.len() as u32;
        *self.places.entry((index.get(), doublings)).or_insert_with(|| {
            self.list.push(PointAt { index: index.get(), doublings });
            next
        })
    }
}

impl Samples {
    pub(crate) fn new(shape: &StatementShape) -> Self {
        let row_step = CirclePointIndex::subgroup_generator(shape.log_degree);
        let (mut points, mut samples) = (DistinctPoints::default(), Vec::new());
        // Terms in the order of their powers, by point and height.
        let mut by_batch: BTreeMap<(u32, u32), Vec<DeepTerm>> = BTreeMap::new();
        let mut power = 0;
        let columns = shape.trees.iter().flat_map(|tree| &tree.columns);
        for (column, column_shape) in (0..).zip(columns) {
            let log_values = column_shape.values.log_len;
            let first = samples.len() as u32;
            let indices: Vec<_> = column_shape.offsets.iter().map(|&offset| row_step * offset as u32).collect();
            for &index in &indices {
                let point = points.place(index, shape.log_size - log_values);
                samples.push(SampleAt { column, point });
            }
            let mut add = |index, value| {
                let batch = (points.place(index, 0), column_shape.log_rows);
                by_batch.entry(batch).or_default().push(DeepTerm { column, value, power, reserved: 0 });
                power += 1;
            };
            // A column that is read at two rows has to be periodic with the period of its height: both rows
            // alone could belong to a larger column.
            if let [_, index] = indices[..] {
                add(index + CirclePointIndex::subgroup_generator(shape.log_size - log_values), first + 1);
            }
            for (value, &index) in (first..).zip(&indices) {
                add(index, value);
            }
        }
        let (mut terms, mut batches) = (Vec::new(), Vec::new());
        for ((point, log_size), batch) in by_batch {
            batches.push(DeepBatch { first: terms.len() as u32, count: batch.len() as u32, point, log_size });
            terms.extend(batch);
        }
        Self { points: points.list, samples, terms, batches }
    }

    /// The batches of each height that follow each other.
    pub(crate) fn heights(&self) -> impl Iterator<Item = &[DeepBatch]> {
        self.batches.chunk_by(|a, b| a.log_size == b.log_size)
    }

    /// Words of all numerators.
    pub(crate) fn numerators(&self) -> usize {
        self.batches.iter().map(|batch| 4 << batch.log_size).sum()
    }
}
