//! Openings of all trees and layers at the queries.
//!
//! A nonce shows work if `Blake2s(prefix || nonce)` has `pow_bits` trailing zeros as a
//! little-endian number; `prefix` hashes the transcript and `pow_bits`. The nonce is absorbed, and
//! each query is a drawn word modulo `2^log_size` (stwo 2.3, `core/channel/blake2s.rs` and
//! `core/queries.rs`).

use backend_api::{
    Buffer as _,
    ops::{
        fri::{OpenColumns, OpenGroups},
        merkle::MerklePaths,
    },
};
use core_types::params::{
    columns::ColumnAt,
    fri::{OpenColumnsParams, OpenGroupsParams},
    merkle::MerklePathsParams,
};

use crate::{
    Prover, ProverError, StarkOps,
    storage::answers::{Answers, root},
    storage::memory::{FriLayerMemory, ProverMemory},
};

impl<Q: StarkOps> Prover<Q> {
    /// Gathers the values of a tree's columns at the queries.
    ///
    /// Of a truncated tree, it gathers the values of all leaves that open each query.
    pub(crate) fn open_values(&mut self, q: &Q, tree: usize) -> Result<(), ProverError> {
        match self.shape.trees[tree].truncated {
            0 => self.open_columns(q, tree),
            _ => self.open_groups(q, tree),
        }
    }

    /// Gathers the authentication paths of each query, and the root of a tree.
    ///
    /// Equal queries have a path each.
    pub(crate) fn open_paths(&mut self, q: &Q, tree: usize) -> Result<(), ProverError> {
        let ProverMemory { trees, answers: Answers { digests, words, places, .. }, .. } = &mut self.memory;
        let shape = &self.shape.trees[tree];
        let (log_parts, all) = (self.shape.log_parts(shape), places.tree_paths[tree].clone());
        // Empty where each rank keeps the roots of its parts alone.
        let len = all.len() >> log_parts;
        // Positions count modulo the part: for a query in another part, the gathered digests are not read.
        let (log_leaves, log_from) = (self.shape.log_kept(shape), self.shape.log_size - log_parts);
        // The nodes of a level above the leaves are shifted positions.
        let folded = u32::from(shape.truncated > 0);
        let queries = self.shape.queries as u32; // a valid number of queries fits a word
        for (number, part) in self.shape.own_parts(shape) {
            let first = all.start + part * len;
            q.merkle_paths(MerklePaths {
                params: &MerklePathsParams { log_leaves, log_from, first_level: 0, queries, folded },
                nodes: trees.stored[tree].slice(self.shape.part_nodes(shape, number))?,
                positions: words.slice(places.positions.clone())?,
                paths: digests.slice_mut(first..first + len)?,
            })?;
        }
        // Ranks gather the paths in the parts of others.
        if log_parts > 0 {
            self.group.gather_blocks(q, self.shape.place, digests, 1 << log_parts, [all.start, len])?;
        }
        // The nodes above the parts, and the root.
        if let Some(top) = trees.tops.get(tree) {
            q.copy(top.view(), digests.slice_mut(places.tree_tops[tree].clone())?)?;
        }
        Ok(q.copy(trees.root(tree)?, digests.slice_mut(places.tree_roots[tree].clone())?)?)
    }

    /// Gathers the groups of values, the authentication paths and the root of a layer of FRI.
    pub(crate) fn open_layer(&mut self, q: &Q, index: usize) -> Result<(), ProverError> {
        let ProverMemory { layers, answers: Answers { secure, digests, words, places, .. }, .. } = &mut self.memory;
        let FriLayerMemory { form, values, nodes, .. } = &layers[index];
        let (log_from, queries) = (self.shape.log_size, self.shape.queries as u32);
        q.open_groups(OpenGroups {
            params: &OpenGroupsParams { log_size: form.log_size, log_from, log_group: form.log_gathered(), queries },
            values: values.view(),
            positions: words.slice(places.positions.clone())?,
            opened: secure.slice_mut(places.groups[index].clone())?,
        })?;
        let (log_leaves, first_level) = (form.log_kept(), form.first_kept());
        q.merkle_paths(MerklePaths {
            params: &MerklePathsParams { log_leaves, log_from, first_level, queries, folded: 1 },
            nodes: nodes.view(),
            positions: words.slice(places.positions.clone())?,
            paths: digests.slice_mut(places.layer_paths[index].clone())?,
        })?;
        Ok(q.copy(nodes.slice(root(nodes.len()))?, digests.slice_mut(places.layer_roots[index].clone())?)?)
    }

    /// Gathers the values of a tree's columns at the queries.
    ///
    /// It does so block by block if the values are not in memory.
    fn open_columns(&mut self, q: &Q, tree: usize) -> Result<(), ProverError> {
        let shape = &self.shape.trees[tree];
        if shape.columns.is_empty() {
            return Ok(());
        }
        // A query opens one word of each column.
        let columns: Vec<ColumnAt> = shape.columns.iter().map(|column| self.shape.in_block(column.values)).collect();
        let queries = self.shape.queries;
        // Positions count modulo the block: for a query in another block, the gathered values are not read.
        let params = OpenColumnsParams {
            log_from: self.shape.log_size - self.shape.log_blocks,
            log_leaves: shape.height - self.shape.log_blocks,
            queries: queries as u32, // a valid number of queries fits a word
        };
        // Blocks that are not stored are recomputed.
        let start = self.memory.answers.places.opened[tree].start;
        let words = columns.len() * queries;
        let (place, blocks) = (self.shape.place, self.shape.blocks());
        for (number, block) in place.own_blocks(blocks) {
            let first = start + block * words;
            self.fill_block(q, tree, [number, block], false)?;
            let memory = &mut self.memory;
            let Answers { elements, words: positions, places, .. } = &mut memory.answers;
            q.open_columns(OpenColumns {
                params: &params,
                columns: &columns,
                values: memory.values.slice(self.shape.slot(number))?,
                positions: positions.slice(places.positions.clone())?,
                opened: elements.slice_mut(first..first + words)?,
            })?;
        }
        // The answers of other ranks are gathered.
        Ok(self.group.gather_blocks(q, place, &mut self.memory.answers.elements, blocks, [start, words])?)
    }

    /// Gathers the values of a tree's columns around the queries, block by block.
    ///
    /// They are the values of the leaves that open each query below the lowest stored level.
    fn open_groups(&mut self, q: &Q, tree: usize) -> Result<(), ProverError> {
        // A query opens a group of words of each column, gathered four columns at a time.
        let (place, blocks, queries) = (self.shape.place, self.shape.blocks(), self.shape.queries);
        let of_block = self.shape.grouped_values(&self.shape.trees[tree]) * queries;
        let start = self.memory.answers.places.opened_groups[tree].start;
        for (number, block) in place.own_blocks(blocks) {
            self.fill_block(q, tree, [number, block], false)?;
            let slot = self.shape.slot(number).start;
            let (shape, memory) = (&self.shape.trees[tree], &mut self.memory);
            let Answers { secure, words: positions, places, .. } = &mut memory.answers;
            let mut first = start + block * of_block;
            for run in &shape.runs {
                let log_group = self.shape.log_group(shape, run);
                // Positions count modulo the block here too.
                let params = OpenGroupsParams {
                    log_size: self.shape.log_block(run.log_rows),
                    log_from: self.shape.log_size - self.shape.log_blocks,
                    log_group,
                    queries: queries as u32, // a valid number of queries fits a word
                };
                for chunk in 0..run.chunks() {
                    let end = first + (queries << log_group);
                    let chunk = self.shape.chunk_in_block(run, chunk);
                    q.open_groups(OpenGroups {
                        params: &params,
                        values: memory.values.slice(slot + chunk.start..slot + chunk.end)?,
                        positions: positions.slice(places.positions.clone())?,
                        opened: secure.slice_mut(first..end)?,
                    })?;
                    first = end;
                }
            }
        }
        // The answers of other ranks are gathered.
        Ok(self.group.gather_blocks(q, place, &mut self.memory.answers.secure, blocks, [start, of_block])?)
    }
}
