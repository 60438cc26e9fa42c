//! Proof of work, queries, and the gathering of what opens the trees at them.

use backend_api::{
    Buffer as _,
    ops::{
        channel::{ChannelGrind, ChannelMixWords, ChannelQueries},
        fri::{OpenColumns, OpenGroups},
        merkle::MerklePaths,
    },
};
use core_types::params::{
    channel::{ChannelGrindParams, ChannelQueriesParams},
    columns::ColumnAt,
    fri::{OpenColumnsParams, OpenGroupsParams},
    merkle::MerklePathsParams,
};

use crate::{
    Prover, ProverError, StarkOps,
    answers::{Answers, root},
    memory::Layer,
};

impl<Q: StarkOps> Prover<Q> {
    /// Works, draws the queries, and gathers what opens each tree at each of them, equal ones too, and the roots; packs all answers.
    pub(crate) fn open(&mut self, q: &Q) -> Result<(), ProverError> {
        let (memory, log_from) = (&mut self.memory, self.shape.log_size);
        let Answers { words, places, .. } = &mut memory.answers;
        let (nonce, drawn_positions) = (places.nonce.clone(), places.positions.clone());
        let queries = self.config.fri_config.n_queries as u32; // a valid number of queries fits a word
        q.channel_grind(ChannelGrind {
            params: &ChannelGrindParams { bits: self.config.pow_bits },
            channel: memory.channel.view(),
            nonce: words.slice_mut(nonce.clone())?,
        })?;
        q.channel_mix_words(ChannelMixWords {
            said: words.slice(nonce)?,
            channel: memory.channel.view_mut(),
            drawn: memory.drawn.slice_mut(0..0)?,
        })?;
        q.channel_queries(ChannelQueries {
            params: &ChannelQueriesParams { log_size: log_from, queries },
            channel: memory.channel.view_mut(),
            positions: words.slice_mut(drawn_positions.clone())?,
        })?;
        for tree in 0..self.shape.trees.len() {
            self.open_values(q, tree)?;
        }
        let memory = &mut self.memory;
        let Answers { secure, digests, words, places, .. } = &mut memory.answers;
        for (tree, (shape, nodes)) in self.shape.trees.iter().zip(&memory.trees).enumerate() {
            let log_leaves = shape.height;
            q.merkle_paths(MerklePaths {
                params: &MerklePathsParams { log_leaves, log_from, first_level: 0, queries, folded: 0 },
                nodes: nodes.view(),
                positions: words.slice(drawn_positions.clone())?,
                paths: digests.slice_mut(places.tree_paths[tree].clone())?,
            })?;
            q.copy(nodes.slice(root(nodes.len()))?, digests.slice_mut(places.tree_roots[tree].clone())?)?;
        }
        for (index, Layer { form, values, nodes, .. }) in memory.layers.iter().enumerate() {
            q.open_groups(OpenGroups {
                params: &OpenGroupsParams {
                    log_size: form.log_size,
                    log_from,
                    log_group: form.log_gathered(),
                    queries,
                },
                values: values.view(),
                positions: words.slice(drawn_positions.clone())?,
                opened: secure.slice_mut(places.groups[index].clone())?,
            })?;
            let (log_leaves, first_level) = (form.log_kept(), form.first_kept());
            q.merkle_paths(MerklePaths {
                params: &MerklePathsParams { log_leaves, log_from, first_level, queries, folded: 1 },
                nodes: nodes.view(),
                positions: words.slice(drawn_positions.clone())?,
                paths: digests.slice_mut(places.layer_paths[index].clone())?,
            })?;
            q.copy(nodes.slice(root(nodes.len()))?, digests.slice_mut(places.layer_roots[index].clone())?)?;
        }
        Ok(memory.answers.pack(q, memory.challenges.view())?)
    }

    /// Gathers the values of a tree's columns at the queries, block by block if they are not in memory.
    fn open_values(&mut self, q: &Q, tree: usize) -> Result<(), ProverError> {
        let shape = &self.shape.trees[tree];
        if shape.columns.is_empty() {
            return Ok(());
        }
        let columns: Vec<ColumnAt> = shape.columns.iter().map(|column| self.shape.in_block(column.values)).collect();
        let queries = self.config.fri_config.n_queries;
        // Positions count modulo the block: of a query in another block, what is gathered is not read.
        let params = OpenColumnsParams {
            log_from: self.shape.log_size - self.shape.log_blocks,
            log_leaves: shape.height - self.shape.log_blocks,
            queries: queries as u32, // a valid number of queries fits a word
        };
        let all = self.memory.answers.places.opened[tree].clone();
        let words = columns.len() * queries;
        for (block, first) in all.step_by(words.max(1)).enumerate() {
            self.extend_block(q, tree, block)?;
            let memory = &mut self.memory;
            let Answers { elements, words: positions, places, .. } = &mut memory.answers;
            q.open_columns(OpenColumns {
                params: &params,
                columns: &columns,
                values: memory.values.view(),
                positions: positions.slice(places.positions.clone())?,
                opened: elements.slice_mut(first..first + words)?,
            })?;
        }
        Ok(())
    }
}
