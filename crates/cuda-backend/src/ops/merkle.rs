//! The merkle op set. Places of columns go to the device with each call.

use backend_api::{
    BackendError, Buffer as _, BufferMut as _, Queue as _,
    ops::merkle::{MerkleLeaves, MerkleOps, MerklePaths, MerkleSecureLeaves, MerkleTree},
};

use crate::{
    CudaQueue,
    launch::merkle::{self, TREE_LEVELS},
};

impl MerkleOps for CudaQueue {
    fn merkle_leaves(&self, op: MerkleLeaves<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        let columns = self.upload(op.columns)?;
        merkle::leaves(self, &op, columns.view())
    }

    fn merkle_secure_leaves(&self, op: MerkleSecureLeaves<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        merkle::secure_leaves(self, &op)
    }

    fn merkle_tree(&self, op: MerkleTree<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        let log_leaves = op.params.log_leaves;
        (0..log_leaves)
            .step_by(TREE_LEVELS as usize)
            .try_for_each(|first| merkle::tree(self, &op, first, TREE_LEVELS.min(log_leaves - first)))
    }

    fn merkle_paths(&self, op: MerklePaths<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        if op.paths.len() == 0 {
            return Ok(());
        }
        merkle::paths(self, &op)
    }
}
