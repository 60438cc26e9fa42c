//! Commitments to the columns of a tree.
//!
//! A column of `2^n` rows is interpolated, extended to `2^(n+b)` values, where `b` is the log
//! blowup, and hashed. Leaf `j` of a tree of height `h` is Blake2s of one value of each column, the
//! smallest columns first; a column of `2^l` values enters with value
//! `((j >> (h-l+1)) << 1) + (j & 1)`. Node is `Blake2s(left || right)` (stwo 2.3,
//! `core/vcs_lifted`).

use core::ops::Range;

use backend_api::{
    BackendError, Buffer as _, BufferRef as _,
    ops::{
        circle::{CircleInterpolate, CircleLde},
        merkle::{MerkleLeaves, MerkleOps, MerkleTree},
    },
};
use core_types::{
    blake2s::Digest,
    field::M31,
    params::{
        circle::{CircleExtendParams, CircleFftParams},
        columns::ColumnAt,
        merkle::{MerkleLeavesParams, MerkleTreeParams},
    },
};
use stark_fft::CanonicDomain;

use crate::{
    Prover, ProverError, StarkOps,
    plan::shape::{TreeShape, nodes},
    storage::answers::{level, root},
    storage::memory::BlockMemory,
};

impl<Q: StarkOps> Prover<Q> {
    /// Copies the rows of a tree's columns to the places of their coefficients.
    ///
    /// Where those are on the host, they become coefficients at once; with column-partitioned
    /// ranks, look-ups read them in a separate place.
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
        // With coefficients on the host or partitioned, columns take another path.
        if self.host.is_some() {
            return self.interpolate_by_pieces(q, tree, &parts);
        }
        if self.shape.place.partitioned {
            return self.upload_own(q, tree, &parts);
        }
        if self.shape.place.is_alone() || self.memory.look_ups.is_some() {
            return Ok(q.write_parts(&parts, self.memory.coefficients.slice_mut(shape.coefficients())?)?);
        }
        // Columns that other ranks interpolate come as coefficients.
        let mut parts = &parts[..];
        for run in &shape.runs {
            let columns;
            (columns, parts) = parts.split_at(run.columns as usize);
            let own = self.shape.place.share(columns.len());
            let words = run.words(own.clone());
            q.write_parts(&columns[own], self.memory.coefficients.slice_mut(words)?)?;
        }
        Ok(())
    }

    /// Commits to the rows stored in the place of a tree's coefficients.
    ///
    /// Rows that are not yet coefficients are interpolated.
    pub(crate) fn commit(&mut self, q: &Q, tree: usize) -> Result<(), ProverError> {
        // Host columns are interpolated at upload; partitioned ones are exchanged by the ranks.
        if self.host.is_some() {
            return self.hash(q, tree);
        }
        if self.shape.place.partitioned {
            self.exchange(q, tree)?;
            return self.hash(q, tree);
        }
        // Lookups read the rows of the preprocessed columns and of the trace later.
        let shape = &self.shape.trees[tree];
        if let Some(look_ups) = &mut self.memory.look_ups
            && tree < 2
        {
            let rows = shape.coefficients();
            q.copy(self.memory.coefficients.slice(rows.clone())?, look_ups.rows.slice_mut(rows)?)?;
        }
        // In blocks, each rank interpolates a share of the columns and gathers the others.
        if self.shape.log_blocks > 0 {
            for run in &shape.runs {
                let (place, columns) = (self.shape.place, run.columns as usize);
                let own = place.share(columns);
                if !own.is_empty() {
                    let params = CircleFftParams { log_size: run.log_rows, columns: own.len() as u32 };
                    q.circle_interpolate(CircleInterpolate {
                        params: &params,
                        inverse_twiddles: self.twiddles.inverse(CanonicDomain::new(run.log_rows)?)?,
                        columns: self.memory.coefficients.slice_mut(run.words(own))?,
                    })?;
                }
                let shares = place.shares(columns).map(|columns| run.words(columns));
                self.group.all_gather(q, &mut self.memory.coefficients.resident, shares)?;
            }
            return self.hash(q, tree);
        }
        // Without blocks, one op interpolates and extends a run.
        for run in &shape.runs {
            let log_size = run.log_rows + self.shape.log_blowup;
            let (small, large) = (CanonicDomain::new(run.log_rows)?, CanonicDomain::new(log_size)?);
            let params = CircleExtendParams { log_coefficients: run.log_rows, log_size, columns: run.columns };
            q.circle_lde(CircleLde {
                params: &params,
                inverse_twiddles: self.twiddles.inverse(small)?,
                twiddles: self.twiddles.forward(large)?,
                columns: self.memory.coefficients.slice_mut(run.coefficients.clone())?,
                values: self.memory.values.slice_mut(run.values.clone())?,
            })?;
        }
        self.hash(q, tree)
    }

    /// Builds the Merkle tree of a tree's committed values.
    ///
    /// It does so block by block if the values are not in memory.
    pub(crate) fn hash(&mut self, q: &Q, tree: usize) -> Result<(), ProverError> {
        let TreeShape { height, truncated, .. } = self.shape.trees[tree];
        let is_whole = self.shape.log_blocks == 0 && truncated == 0;
        if self.shape.trees[tree].columns.is_empty() || is_whole {
            let columns = self.shape.trees[tree].leaf_columns(|column| column);
            build_tree(q, height, &columns, &self.memory.values, &mut self.memory.trees[tree])?;
            return self.hash_top(q, tree);
        }
        let is_brought = self.shape.place.partitioned && tree < self.shape.trace_trees();
        for (number, block) in self.shape.place.own_blocks(self.shape.blocks()) {
            if !is_brought && self.shape.log_blocks > 0 {
                self.restrict_to_block(q, tree, number, block)?;
            }
            self.hash_block(q, tree, number)?;
        }
        let log_leaves = self.shape.log_kept(&self.shape.trees[tree]);
        for (number, _) in self.shape.own_parts(&self.shape.trees[tree]) {
            let nodes = self.memory.trees[tree].slice_mut(in_part(log_leaves, number))?;
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
        // With column-partitioned ranks, a block is a part of the tree.
        let (part, number) = if self.shape.place.partitioned { (number, 0) } else { (0, number) };
        let first = in_part(self.shape.log_kept(shape), part).start + (number << (log_block - shape.truncated));
        // With all levels stored, leaves are written to the tree.
        if shape.truncated == 0 {
            q.merkle_leaves(MerkleLeaves {
                params: &MerkleLeavesParams { log_leaves: log_block },
                columns: &shape.leaf_columns(|column| self.shape.in_block(column)),
                values,
                leaves: memory.trees[tree].slice_mut(first..first + (1 << log_block))?,
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
            let (kept, len) = (&mut memory.trees[tree], lowest_kept.len());
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
        let (log_leaves, log_kept) = (self.shape.log_parts(shape), self.shape.log_kept(shape));
        let Some(top) = self.memory.tops.get_mut(tree) else { return Ok(()) };
        for (number, part) in self.shape.own_parts(shape) {
            let nodes = self.memory.trees[tree].slice(in_part(log_kept, number))?;
            q.copy(nodes.slice(root(nodes.len()))?, top.slice_mut(part..part + 1)?)?;
        }
        if log_leaves > 0 {
            for shares in self.shape.place.shared_blocks(1 << log_leaves) {
                self.group.all_gather(q, top, shares.into_iter())?;
            }
        }
        Ok(q.merkle_tree(MerkleTree { params: &MerkleTreeParams { log_leaves }, nodes: top.view_mut() })?)
    }
}

/// Returns the node range of part `number` of this rank.
///
/// Each part has `2^log_leaves` nodes at the lowest stored level.
pub(crate) const fn in_part(log_leaves: u32, number: usize) -> Range<usize> {
    number * nodes(log_leaves)..(number + 1) * nodes(log_leaves)
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
