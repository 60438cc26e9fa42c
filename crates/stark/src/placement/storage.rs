//! The part of each step that depends on where columns are stored.
//!
//! The steps in [`protocol`](crate::protocol) call these methods, and each storage does its part in
//! its own file: `resident.rs`, `blocks.rs`, `streamed.rs` for the host, and `exchange.rs` for
//! partitioned columns.

use core_types::field::M31;

use crate::{Prover, ProverError, StarkOps, plan::residency::Storage};

impl<Q: StarkOps> Prover<Q> {
    /// Copies the rows of a tree's columns to the device.
    ///
    /// `parts` are the columns in the order of their coefficients in memory.
    pub(crate) fn store_rows(&mut self, q: &Q, tree: usize, parts: &[&[M31]]) -> Result<(), ProverError> {
        match self.shape.storage() {
            Storage::Resident | Storage::Blocks => self.upload_share(q, tree, parts),
            Storage::Host => self.interpolate_by_pieces(q, tree, parts),
            Storage::Partitioned => self.upload_own(q, tree, parts),
        }
    }

    /// Interpolates the rows of a tree, and extends them if their values stay in memory.
    ///
    /// Rows of the host were interpolated as they were stored.
    pub(crate) fn extend_rows(&mut self, q: &Q, tree: usize) -> Result<(), ProverError> {
        match self.shape.storage() {
            Storage::Resident => self.extend_all(q, tree),
            Storage::Blocks => self.interpolate_share(q, tree),
            Storage::Host => Ok(()),
            Storage::Partitioned => self.exchange(q, tree),
        }
    }

    /// Computes the values of a tree's columns on a block, unless they are in memory.
    ///
    /// `number` counts the blocks of this rank. `is_first` is true before the commitment.
    pub(crate) fn fill_block(
        &mut self,
        q: &Q,
        tree: usize,
        [number, block]: [usize; 2],
        is_first: bool,
    ) -> Result<(), ProverError> {
        // The rows of the trace are extended before the commitment, the composition polynomial is not.
        let is_missing = is_first && tree == self.shape.trace_trees();
        match self.shape.storage() {
            Storage::Blocks | Storage::Host => self.restrict_to_block(q, tree, number, block),
            Storage::Resident if is_missing => self.extend_composition(q),
            Storage::Partitioned if is_missing => self.restrict_to_block(q, tree, number, block),
            Storage::Resident | Storage::Partitioned => Ok(()),
        }
    }

    /// Adds the constraints of all components to the sums of their heights.
    ///
    /// In blocks, the columns that are read at neighbouring rows are computed everywhere first,
    /// since these rows lie in other blocks.
    pub(crate) fn add_constraints(&mut self, q: &Q) -> Result<(), ProverError> {
        match self.shape.storage() {
            Storage::Resident => return self.add_constraints_everywhere(q),
            Storage::Blocks | Storage::Host => self.extend_planes(q)?,
            Storage::Partitioned => self.gather_planes(q)?,
        }
        self.add_constraints_by_blocks(q)
    }

    /// Samples all columns outside the domain.
    ///
    /// Of several ranks, each samples some and gathers the others.
    pub(crate) fn sample_columns(&mut self, q: &Q) -> Result<(), ProverError> {
        match self.shape.storage() {
            Storage::Resident | Storage::Blocks => self.sample_share(q),
            Storage::Host => self.sample_by_pieces(q),
            Storage::Partitioned => self.sample_own(q),
        }
    }

    /// Adds up the numerators of all batches.
    pub(crate) fn add_numerators(&mut self, q: &Q) -> Result<(), ProverError> {
        match self.shape.storage() {
            Storage::Resident => self.add_numerators_everywhere(q),
            Storage::Blocks | Storage::Host | Storage::Partitioned => self.add_numerators_by_blocks(q),
        }
    }
}
