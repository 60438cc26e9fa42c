//! The merkle op set. Places of columns go to the device with each call.

use backend_api::{
    BackendError, Buffer as _, BufferMut as _, Queue as _,
    ops::merkle::{MerkleLeaves, MerklePaths, MerkleSecureLeaves, MerkleTree},
};

use core_types::{
    blake2s::{BLOCK_WORDS, Digest},
    params::{columns::ColumnAt, merkle::MerkleStageParams},
};

use crate::checked::MerkleOps;
use crate::{
    CudaBuf, CudaQueue,
    launch::stark::merkle::{self, TREE_LEVELS},
};

/// Log of the least leaves that are made in stages.
///
/// Fewer do not fill a device, and a launch takes longer than it saves.
const LOG_STAGED: u32 = 12;

/// What each launch takes from the columns.
///
/// Blocks of sixteen columns whose largest are equally high make a stage; the last block has the
/// height of the tree.
fn stages(log_leaves: u32, columns: &[ColumnAt]) -> Vec<MerkleStageParams> {
    let count = columns.len() as u32; // the op has checked that `u32` counts them
    let whole = MerkleStageParams { log_rows: log_leaves, log_states: 0, first: 0, end: count, columns: count };
    if log_leaves < LOG_STAGED {
        return vec![whole];
    }
    let mut stages: Vec<MerkleStageParams> = Vec::new();
    let (mut log_states, mut first) = (0, 0);
    for block in columns.chunks(BLOCK_WORDS) {
        let end = first + block.len() as u32;
        let log_rows = if end == count { log_leaves } else { block[block.len() - 1].log_len };
        match stages.last_mut() {
            Some(stage) if stage.log_rows == log_rows => stage.end = end,
            _ => stages.push(MerkleStageParams { log_rows, log_states, first, end, ..whole }),
        }
        (log_states, first) = (log_rows, end);
    }
    if stages.is_empty() { vec![whole] } else { stages }
}

impl MerkleOps for CudaQueue {
    fn merkle_leaves(&self, op: MerkleLeaves<'_, Self>) -> Result<(), BackendError> {
        let columns = self.upload(op.columns)?;
        let mut states: Option<CudaBuf<Digest>> = None;
        for stage in stages(op.params.log_leaves, op.columns) {
            let before = states.as_ref().map(CudaBuf::view);
            if stage.end == stage.columns {
                return merkle::leaves(self, &op, &stage, columns.view(), before, &op.leaves);
            }
            let mut rows = self.alloc(1 << stage.log_rows)?;
            merkle::leaves(self, &op, &stage, columns.view(), before, &rows.view_mut())?;
            states = Some(rows);
        }
        Ok(())
    }

    fn merkle_secure_leaves(&self, op: MerkleSecureLeaves<'_, Self>) -> Result<(), BackendError> {
        merkle::secure_leaves(self, &op)
    }

    fn merkle_tree(&self, op: MerkleTree<'_, Self>) -> Result<(), BackendError> {
        let log_leaves = op.params.log_leaves;
        (0..log_leaves)
            .step_by(TREE_LEVELS as usize)
            .try_for_each(|first| merkle::tree(self, &op, first, TREE_LEVELS.min(log_leaves - first)))
    }

    fn merkle_paths(&self, op: MerklePaths<'_, Self>) -> Result<(), BackendError> {
        if op.paths.len() == 0 {
            return Ok(());
        }
        merkle::paths(self, &op)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_one_height_go_together() {
        let stages = |log_leaves, log_sizes: &[(u32, usize)]| -> Vec<(u32, u32, u32, u32)> {
            let column = |&(log_len, count)| vec![ColumnAt::new(0, log_len); count];
            let columns: Vec<ColumnAt> = log_sizes.iter().flat_map(column).collect();
            let stages = stages(log_leaves, &columns).into_iter();
            stages.map(|stage| (stage.log_rows, stage.log_states, stage.first, stage.end)).collect()
        };
        assert_eq!(stages(20, &[]), [(20, 0, 0, 0)]);
        assert_eq!(stages(20, &[(20, 100)]), [(20, 0, 0, 100)]);
        assert_eq!(stages(20, &[(19, 100)]), [(19, 0, 0, 96), (20, 19, 96, 100)]);
        assert_eq!(stages(20, &[(0, 17), (5, 40), (20, 8)]), [(0, 0, 0, 16), (5, 0, 16, 48), (20, 5, 48, 65)]);
        assert_eq!(stages(11, &[(0, 17), (5, 40), (11, 8)]), [(11, 0, 0, 65)]);
    }
}
