//! The nodes above the leaves.

use core_types::{blake2s::Digest, params::merkle::MerkleTreeParams};

use crate::ops::{columns::check_log, lengths::pow2, op};

op! {
    /// Writes all nodes above the leaves.
    pub struct MerkleTree<'a, Q> as "merkle_tree" {
        /// Height of the tree.
        params: plain &'a MerkleTreeParams,
        /// The leaves, which are read, then every level above.
        nodes: write Digest [pow2(log_leaves + 1) - 1],
    }
    sizes(self) {
        let log_leaves = self.params.log_leaves;
        check_log(OP, log_leaves)?;
    }
}
