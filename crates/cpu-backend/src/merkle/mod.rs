//! The merkle op set on the processor.

mod leaves;
mod secure_leaves;
mod tree;

use backend_api::{
    BackendError,
    ops::merkle::{MerkleLeaves, MerklePaths, MerkleSecureLeaves, MerkleTree},
};
use core_types::{air::lifted, params::merkle::MerkleTreeParams};

use self::{leaves::LeafTile, secure_leaves::SecureLeaves};
use crate::checked::MerkleOps;
use crate::{CpuQueue, simd::dispatch};

/// Leaves of a task that hashes a block for each.
const LEAVES_PER_TASK: usize = 1 << 12;

/// Digests of a task that copies them.
const DIGESTS_PER_TASK: usize = 1 << 12;

impl MerkleOps for CpuQueue {
    fn merkle_leaves(&self, op: MerkleLeaves<'_, Self>) -> Result<(), BackendError> {
        let tiles = op.leaves.len().div_ceil(leaves::TILE);
        let _scratch = self.reserve_scratch::<u32>(tiles, leaves::SCRATCH)?;
        let words = bytemuck::must_cast_slice(op.values);
        self.for_chunks(op.leaves, leaves::TILE, |tile, leaves| {
            let first = (tile * leaves::TILE) as u32;
            let (columns, log_leaves) = (op.columns, op.params.log_leaves);
            dispatch(self.simd(), LeafTile { words, columns, log_leaves, first, leaves });
        });
        Ok(())
    }

    fn merkle_secure_leaves(&self, op: MerkleSecureLeaves<'_, Self>) -> Result<(), BackendError> {
        let log_packed = op.params.log_packed;
        let values: &[u32] = bytemuck::must_cast_slice(op.values);
        self.for_chunks(op.leaves, LEAVES_PER_TASK, |task, leaves| {
            let first = (task * LEAVES_PER_TASK) << log_packed;
            let plane = |i: usize| &values[(i << op.params.log_size) + first..][..leaves.len() << log_packed];
            let planes = [plane(0), plane(1), plane(2), plane(3)];
            dispatch(self.simd(), SecureLeaves { planes, packed: log_packed > 0, leaves });
        });
        Ok(())
    }

    fn merkle_tree(&self, op: MerkleTree<'_, Self>) -> Result<(), BackendError> {
        let mut nodes = op.nodes;
        let levels = (0..=op.params.log_leaves).rev();
        let mut levels: Vec<_> = levels.filter_map(|log| nodes.split_off_mut(..1 << log)).collect();
        self.merkle_levels(&mut levels);
        Ok(())
    }

    fn merkle_paths(&self, op: MerklePaths<'_, Self>) -> Result<(), BackendError> {
        let MerklePaths { params, nodes, positions, paths } = op;
        let levels = params.log_leaves - params.first_level;
        if levels == 0 {
            return Ok(());
        }
        let tree = MerkleTreeParams { log_leaves: params.log_leaves };
        let per_task = DIGESTS_PER_TASK / levels as usize;
        self.for_chunks(paths, per_task * levels as usize, |task, paths| {
            for (path, position) in paths.chunks_exact_mut(levels as usize).zip(&positions[task * per_task..]) {
                let position = position & ((1 << params.log_from) - 1);
                let leaf = if params.folded == 1 {
                    position >> (params.log_from - params.log_leaves)
                } else {
                    lifted(position, params.log_from, params.log_leaves)
                };
                for (digest, level) in path.iter_mut().zip(params.first_level..) {
                    *digest = nodes[tree.level(level) as usize + (leaf >> level ^ 1) as usize];
                }
            }
        });
        Ok(())
    }
}
