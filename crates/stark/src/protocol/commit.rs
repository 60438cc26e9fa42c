//! Commitments to the columns of a tree.
//!
//! A column of `2^n` rows is interpolated, extended to `2^(n+b)` values, where `b` is the log
//! blowup, and hashed. Leaf `j` of a tree of height `h` is Blake2s of one value of each column, the
//! smallest columns first; a column of `2^l` values enters with value
//! `((j >> (h-l+1)) << 1) + (j & 1)`. Node is `Blake2s(left || right)` (stwo 2.3,
//! `core/vcs_lifted`).

use backend_api::{
    BackendError, Buffer as _, BufferRef as _,
    ops::merkle::{MerkleLeaves, MerkleOps, MerkleTree},
};
use core_types::{
    blake2s::Digest,
    field::M31,
    params::{
        columns::ColumnAt,
        merkle::{MerkleLeavesParams, MerkleTreeParams},
    },
};

use crate::{
    Prover, ProverError, StarkOps,
    plan::shape::nodes,
    storage::answers::{level, root},
    storage::memory::BlockMemory,
};

impl<Q: StarkOps> Prover<Q> {
    /// Copies the rows of a tree's columns to the device, for the next commitment.
    pub(crate) fn upload(&mut self, q: &Q, tree: usize, columns: &[&[M31]]) -> Result<(), ProverError> {
        // The columns match the statement in number and in rows.
        let shape = &self.shape.trees[tree];
        let (expected, got) = (shape.columns.len(), columns.len());
        if expected != got {
            return Err(ProverError::Columns { tree, expected, got });
        }
        for (column, (shape, rows)) in shape.columns.iter().zip(columns).enumerate() {
            let (expected, got) = (1 << shape.log_rows, rows.len());
            if expected != got {
                return Err(ProverError::Rows { tree, column, expected, got });
            }
        }
        // In memory, columns are in the order of their coefficients.
        let mut parts: Vec<_> = shape.columns.iter().map(|shape| shape.coefficients.first).zip(columns).collect();
        parts.sort_unstable_by_key(|(first, _)| *first);
        let parts: Vec<&[M31]> = parts.into_iter().map(|(_, rows)| *rows).collect();
        self.store_rows(q, tree, &parts)
    }

    /// Commits to the rows of a tree that were stored.
    pub(crate) fn commit(&mut self, q: &Q, tree: usize) -> Result<(), ProverError> {
        self.extend_rows(q, tree)?;
        self.hash(q, tree)
    }

    /// Builds the Merkle tree of a tree's committed values, block by block.
    pub(crate) fn hash(&mut self, q: &Q, tree: usize) -> Result<(), ProverError> {
        // A tree without columns has one leaf.
        if self.shape.trees[tree].columns.is_empty() {
            build_tree(q, 0, &[], &self.memory.values, &mut self.memory.trees.stored[tree])?;
            return self.hash_top(q, tree);
        }
        for (number, block) in self.shape.place.own_blocks(self.shape.blocks()) {
            self.fill_block(q, tree, [number, block], true)?;
            self.hash_block(q, tree, number)?;
        }
        let shape = &self.shape.trees[tree];
        let log_leaves = self.shape.log_kept(shape);
        for (number, _) in self.shape.own_parts(shape) {
            let nodes = self.memory.trees.stored[tree].slice_mut(self.shape.part_nodes(shape, number))?;
            q.merkle_tree(MerkleTree { params: &MerkleTreeParams { log_leaves }, nodes })?;
        }
        self.hash_top(q, tree)
    }

    /// Hashes the block in memory to the nodes of the lowest stored level.
    ///
    /// `number` counts the blocks of this rank.
    fn hash_block(&mut self, q: &Q, tree: usize, number: usize) -> Result<(), ProverError> {
        let (shape, memory) = (&self.shape.trees[tree], &mut self.memory);
        let log_block = shape.height - self.shape.log_blocks;
        let values = memory.values.slice(self.shape.slot(number))?;
        let first = self.shape.first_node(shape, number);
        // With all levels stored, leaves are written to the tree.
        if shape.truncated == 0 {
            q.merkle_leaves(MerkleLeaves {
                params: &MerkleLeavesParams { log_leaves: log_block },
                columns: &shape.leaf_columns(|column| self.shape.in_block(column)),
                values,
                leaves: memory.trees.stored[tree].slice_mut(first..first + (1 << log_block))?,
            })?;
            return Ok(());
        }
        // Else parts are hashed in scratch memory, and only their lowest stored level is copied.
        let Some(BlockMemory { nodes: scratch, .. }) = &mut memory.blocks else { return Ok(()) };
        let log_leaves = self.shape.log_part(shape);
        let lowest_kept = level(log_leaves, shape.truncated);
        for part in 0..1 << (log_block - log_leaves) {
            let columns = shape.leaf_columns(|column| self.shape.in_part(shape, column, part));
            q.merkle_leaves(MerkleLeaves {
                params: &MerkleLeavesParams { log_leaves },
                columns: &columns,
                values: q.shorten(values),
                leaves: scratch.slice_mut(0..1 << log_leaves)?,
            })?;
            let nodes = scratch.slice_mut(0..nodes(log_leaves))?;
            q.merkle_tree(MerkleTree { params: &MerkleTreeParams { log_leaves }, nodes })?;
            let (kept, len) = (&mut memory.trees.stored[tree], lowest_kept.len());
            let first = first + part * len;
            q.copy(scratch.slice(lowest_kept.clone())?, kept.slice_mut(first..first + len)?)?;
        }
        Ok(())
    }

    /// Builds the top of a tree on the roots of the parts that the ranks hashed.
    ///
    /// Nothing without other ranks.
    fn hash_top(&mut self, q: &Q, tree: usize) -> Result<(), ProverError> {
        let shape = &self.shape.trees[tree];
        let (log_leaves, trees) = (self.shape.log_parts(shape), &mut self.memory.trees);
        let Some(top) = trees.tops.get_mut(tree) else { return Ok(()) };
        for (number, part) in self.shape.own_parts(shape) {
            let nodes = trees.stored[tree].slice(self.shape.part_nodes(shape, number))?;
            q.copy(nodes.slice(root(nodes.len()))?, top.slice_mut(part..part + 1)?)?;
        }
        if log_leaves > 0 {
            self.group.gather_blocks(q, self.shape.place, top, 1 << log_leaves, [0, 1])?;
        }
        Ok(q.merkle_tree(MerkleTree { params: &MerkleTreeParams { log_leaves }, nodes: top.view_mut() })?)
    }
}

/// Builds the tree of `2^log_leaves` leaves of these columns of `values`, the smallest first.
pub(crate) fn build_tree<Q: MerkleOps>(
    q: &Q,
    log_leaves: u32,
    columns: &[ColumnAt],
    values: &Q::Buf<M31>,
    nodes: &mut Q::Buf<Digest>,
) -> Result<(), BackendError> {
    q.merkle_leaves(MerkleLeaves {
        params: &MerkleLeavesParams { log_leaves },
        columns,
        values: values.view(),
        leaves: nodes.slice_mut(0..1 << log_leaves)?,
    })?;
    q.merkle_tree(MerkleTree { params: &MerkleTreeParams { log_leaves }, nodes: nodes.view_mut() })
}
