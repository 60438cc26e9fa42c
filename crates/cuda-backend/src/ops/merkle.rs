//! The merkle op set. Places of columns go to the device with each call.

use backend_api::{
    BackendError, Buffer as _, BufferMut as _, Queue as _,
    ops::merkle::{MerkleLeaves, MerklePaths, MerkleSecureLeaves, MerkleTree},
};
use core_types::{
    blake2s::{BLOCK_WORDS, Digest},
    params::{columns::ColumnAt, merkle::MerkleStageParams},
};

use crate::{CudaBuf, CudaQueue, checked::MerkleOps};

/// Most levels of a launch: the lowest has a node for each thread of a block.
const TREE_LEVELS: u32 = 9;

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
            let last = stage.end == stage.columns;
            let mut rows = if last { None } else { Some(self.alloc::<Digest>(1 << stage.log_rows)?) };
            let scratch = rows.as_mut().map(|rows| rows.view_mut());
            let launch = self.kernel("merkle_leaves")?.cover(1 << stage.log_rows).value("params", &stage);
            let launch = launch.input("columns", columns.view()).input("values", op.values);
            let launch = launch.input_if("states", states.as_ref().map(CudaBuf::view));
            let launch = launch.output("leaves", scratch.as_ref().unwrap_or(&op.leaves));
            // SAFETY: `MerkleLeaves::check` verified that the columns lie in the view of the values. A stage gets
            // columns that are no larger than it, the digests of the stage before, and room for its own.
            unsafe { launch.launch() }?;
            states = rows;
        }
        Ok(())
    }

    fn merkle_secure_leaves(&self, op: MerkleSecureLeaves<'_, Self>) -> Result<(), BackendError> {
        let kernel = if op.params.log_packed == 0 { "merkle_secure_leaves" } else { "merkle_packed_leaves" };
        let log_leaves = op.params.log_size - op.params.log_packed;
        let launch = self.kernel(kernel)?.cover(1 << log_leaves).input("values", op.values);
        let launch = launch.output("leaves", &op.leaves).value("log_leaves", &log_leaves);
        // SAFETY: `MerkleSecureLeaves::check` verified all lengths, and that a leaf has one value or four.
        unsafe { launch.launch() }
    }

    fn merkle_tree(&self, op: MerkleTree<'_, Self>) -> Result<(), BackendError> {
        let log_leaves = op.params.log_leaves;
        for first_level in (0..log_leaves).step_by(TREE_LEVELS as usize) {
            let levels = TREE_LEVELS.min(log_leaves - first_level);
            let blocks = 1 << (log_leaves - first_level - levels);
            let launch = self.kernel("merkle_tree")?.blocks(blocks).value("params", op.params);
            let launch = launch.output("nodes", &op.nodes);
            let launch = launch.value("first_level", &first_level).value("levels", &levels);
            // SAFETY: `MerkleTree::check` verified the length of the view; these are levels of the tree, no more than a
            // block has threads for.
            unsafe { launch.launch() }?;
        }
        Ok(())
    }

    fn merkle_paths(&self, op: MerklePaths<'_, Self>) -> Result<(), BackendError> {
        if op.paths.len() == 0 {
            return Ok(());
        }
        let launch = self.kernel("merkle_paths")?.cover_striding(8 * op.paths.len() as u64);
        let launch = launch.value("params", op.params).input("nodes", op.nodes);
        let launch = launch.input("positions", op.positions).output("paths", &op.paths);
        // SAFETY: `MerklePaths::check` verified all lengths; the kernel takes positions modulo their number.
        unsafe { launch.launch() }
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
