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

use crate::{Prover, ProverError, StarkOps};

impl<Q: StarkOps> Prover<Q> {
    /// Works, draws the queries, and gathers what opens each tree at each of them, equal ones too.
    pub(crate) fn open(&mut self, q: &Q) -> Result<(), ProverError> {
        let (memory, log_from) = (&mut self.memory, self.shape.log_size);
        let queries = self.config.fri_config.n_queries as u32; // a valid number of queries fits a word
        q.channel_grind(ChannelGrind {
            params: &ChannelGrindParams { bits: self.config.pow_bits },
            channel: memory.channel.view(),
            nonce: memory.nonce.view_mut(),
        })?;
        q.channel_mix_words(ChannelMixWords {
            said: memory.nonce.view(),
            channel: memory.channel.view_mut(),
            drawn: memory.drawn.slice_mut(0..0)?,
        })?;
        q.channel_queries(ChannelQueries {
            params: &ChannelQueriesParams { log_size: log_from, queries },
            channel: memory.channel.view_mut(),
            positions: memory.positions.view_mut(),
        })?;
        for (shape, tree) in self.shape.trees.iter().zip(&mut memory.trees) {
            let columns: Vec<ColumnAt> = shape.columns.iter().map(|column| column.values).collect();
            let log_leaves = shape.height;
            q.open_columns(OpenColumns {
                params: &OpenColumnsParams { log_from, log_leaves, queries },
                columns: &columns,
                values: memory.values.view(),
                positions: memory.positions.view(),
                opened: tree.opened.view_mut(),
            })?;
            q.merkle_paths(MerklePaths {
                params: &MerklePathsParams { log_leaves, log_from, first_level: 0, queries, folded: 0 },
                nodes: tree.nodes.view(),
                positions: memory.positions.view(),
                paths: tree.paths.view_mut(),
            })?;
        }
        for layer in &mut memory.layers {
            q.open_groups(OpenGroups {
                params: &OpenGroupsParams { log_size: layer.log_size, log_from, log_group: layer.fold, queries },
                values: layer.values.view(),
                positions: memory.positions.view(),
                opened: layer.groups.view_mut(),
            })?;
            let (log_leaves, first_level) = (layer.log_leaves(), layer.group_level());
            q.merkle_paths(MerklePaths {
                params: &MerklePathsParams { log_leaves, log_from, first_level, queries, folded: 1 },
                nodes: layer.nodes.view(),
                positions: memory.positions.view(),
                paths: layer.paths.view_mut(),
            })?;
        }
        Ok(())
    }
}
