//! The nodes above the leaves.

use core_types::{blake2s::Digest, params::merkle::MerkleTreeParams};

use crate::{
    BackendError, Queue,
    ops::{Op, columns::check_log, op},
};

op! {
    /// Writes all nodes above the leaves.
    pub struct MerkleTree<'a, Q> as "merkle_tree" {
        /// Height of the tree.
        params: plain &'a MerkleTreeParams,
        /// `2^(log_leaves + 1) - 1` digests: the leaves, which are read, then every level above.
        nodes: write Digest,
    }
}

impl<Q: Queue> MerkleTree<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`MerkleOps`](super::MerkleOps).
    pub fn check(&self) -> Result<(), BackendError> {
        check_log(Self::NAME, self.params.log_leaves)?;
        self.expect([(2 << self.params.log_leaves) - 1])
    }
}
