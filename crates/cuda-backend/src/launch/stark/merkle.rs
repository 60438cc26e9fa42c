//! Launches of the merkle kernels.

use backend_api::{
    BackendError, BufferMut as _,
    ops::merkle::{MerkleLeaves, MerklePaths, MerkleSecureLeaves, MerkleTree},
};
use core_types::{
    blake2s::Digest,
    params::{columns::ColumnAt, merkle::MerkleStageParams},
};

use crate::{CudaMut, CudaQueue, CudaRef};

/// Most levels of a launch: the lowest has a node for each thread of a block.
pub(crate) const TREE_LEVELS: u32 = 9;

/// A stage of `op` from `states`, which the stage before wrote.
///
/// `columns` are `op`'s, in device memory.
pub(crate) fn leaves(
    queue: &CudaQueue,
    op: &MerkleLeaves<'_, CudaQueue>,
    stage: &MerkleStageParams,
    columns: CudaRef<'_, ColumnAt>,
    states: Option<CudaRef<'_, Digest>>,
    rows: &CudaMut<'_, Digest>,
) -> Result<(), BackendError> {
    let launch = queue.kernel("merkle_leaves")?.cover(1 << stage.log_rows).value("params", stage);
    let launch = launch.input("columns", columns).input("values", op.values);
    let launch = launch.input_if("states", states).output("leaves", rows);
    // SAFETY: `MerkleLeaves::check` verified that the columns lie in the view of the values. The op
    // gives a stage columns that are no larger than it, the digests of the stage before, and room
    // for its own.
    unsafe { launch.launch() }
}

pub(crate) fn secure_leaves(queue: &CudaQueue, op: &MerkleSecureLeaves<'_, CudaQueue>) -> Result<(), BackendError> {
    let kernel = if op.params.log_packed == 0 { "merkle_secure_leaves" } else { "merkle_packed_leaves" };
    let log_leaves = op.params.log_size - op.params.log_packed;
    let launch = queue.kernel(kernel)?.cover(1 << log_leaves);
    let launch = launch.input("values", op.values).output("leaves", &op.leaves).value("log_leaves", &log_leaves);
    // SAFETY: `MerkleSecureLeaves::check` verified all lengths, and that a leaf has one value or four.
    unsafe { launch.launch() }
}

/// Computes `levels` levels above `first_level`, between one and [`TREE_LEVELS`].
pub(crate) fn tree(
    queue: &CudaQueue,
    op: &MerkleTree<'_, CudaQueue>,
    first_level: u32,
    levels: u32,
) -> Result<(), BackendError> {
    let blocks = 1 << (op.params.log_leaves - first_level - levels);
    let launch = queue.kernel("merkle_tree")?.grid([blocks, 1, 1]).value("params", op.params);
    let launch = launch.output("nodes", &op.nodes).value("first_level", &first_level).value("levels", &levels);
    // SAFETY: `MerkleTree::check` verified the length of the view; the op requests levels of the
    // tree, no more than a block has threads for.
    unsafe { launch.launch() }
}

pub(crate) fn paths(queue: &CudaQueue, op: &MerklePaths<'_, CudaQueue>) -> Result<(), BackendError> {
    let launch = queue.kernel("merkle_paths")?;
    let words = 8 * op.paths.len() as u64;
    let blocks = words.div_ceil(launch.block()[0].into()).min(launch.at_once());
    let launch = launch.grid([blocks, 1, 1]).value("params", op.params);
    let launch = launch.input("nodes", op.nodes).input("positions", op.positions).output("paths", &op.paths);
    // SAFETY: `MerklePaths::check` verified all lengths; the kernel takes positions modulo their number.
    unsafe { launch.launch() }
}
