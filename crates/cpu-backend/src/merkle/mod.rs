//! The merkle op set.

use backend_api::{
    BackendError,
    ops::merkle::{MerkleLeaves, MerkleOps, MerklePaths, MerkleSecureLeaves, MerkleTree},
};

use crate::CpuQueue;

impl MerkleOps for CpuQueue {
    fn merkle_leaves(&self, op: MerkleLeaves<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        Err(BackendError::Unsupported { op: "merkle_leaves", why: "stub" })
    }

    fn merkle_secure_leaves(&self, op: MerkleSecureLeaves<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        Err(BackendError::Unsupported { op: "merkle_secure_leaves", why: "stub" })
    }

    fn merkle_tree(&self, op: MerkleTree<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        Err(BackendError::Unsupported { op: "merkle_tree", why: "stub" })
    }

    fn merkle_paths(&self, op: MerklePaths<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        Err(BackendError::Unsupported { op: "merkle_paths", why: "stub" })
    }
}
