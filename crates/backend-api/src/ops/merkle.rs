//! Merkle trees over Blake2s, as stwo 2.3 has them.
//!
//! All columns of a tree are lifted to its height: leaf `j` of `2^h` takes from a column of `2^l`
//! values the one at position [`lifted(j, h, l)`](core_types::air::lifted), which belongs to the
//! same point doubled; a column of one value gives it to every leaf. A leaf is the digest of the
//! words of its values, the smallest columns first; a node is the digest of its two children.
//! Digests of all levels are in one buffer: the leaves, the level above them, and so on, the root
//! last.

use core_types::{
    blake2s::Digest,
    field::M31,
    params::{
        columns::ColumnAt,
        merkle::{MerkleLeavesParams, MerklePathsParams, MerkleSecureLeavesParams, MerkleTreeParams},
    },
};

pub use super::sets::MerkleOps;
use crate::{
    BufferRef,
    ops::{
        columns::{check_columns, check_log},
        op,
        op::lengths::{pow2, require},
    },
};

/// The table of the set, for [`op_sets!`](crate::op_sets!).
#[doc(hidden)]
#[macro_export]
macro_rules! merkle_ops {
    ($with:ident $($queue:ident)?) => {
        $with! {
            $([$queue])?
            /// Device steps of Merkle trees.
            ///
            /// Every op returns [`BackendError::Length`] if a view does not have the length its
            /// parameters state, and [`BackendError::Unsupported`] for sizes out of range and for
            /// columns that are not in their buffer. Nothing is written then.
            merkle::MerkleOps: Queue {
                merkle_leaves(MerkleLeaves),
                merkle_secure_leaves(MerkleSecureLeaves),
                merkle_tree(MerkleTree),
                merkle_paths(MerklePaths),
            }
        }
    };
}

op! {
    /// Writes the leaves of a tree of columns, which are lifted to its height.
    ///
    /// Without columns, every leaf is the digest of nothing.
    pub struct MerkleLeaves<'a, Q> as "merkle_leaves" {
        /// Height of the tree.
        params: plain &'a MerkleLeavesParams,
        /// The columns, the smallest first.
        columns: plain &'a [ColumnAt],
        /// The buffer that they are in.
        values: read M31,
        /// The leaves.
        leaves: write Digest [pow2(log_leaves)],
    }
    sizes(self) {
        let log_leaves = self.params.log_leaves;
        check_log(OP, log_leaves)?;
        check_columns(OP, self.columns, log_leaves, self.values.len())?;
    }
    valid(self) {
        self.columns.is_sorted_by_key(|column| column.log_len), "expected columns sorted by length";
    }
}

op! {
    /// Writes the leaves of a tree of one column of the secure field.
    ///
    /// The column has four planes of coordinates. A leaf is the digest of the four words of a
    /// value, or of the sixteen words of four consecutive values, value by value.
    pub struct MerkleSecureLeaves<'a, Q> as "merkle_secure_leaves" {
        /// Number of values, and how many make a leaf.
        params: plain &'a MerkleSecureLeavesParams,
        /// The values, in four planes.
        values: read M31 [4, pow2(log_size)],
        /// The leaves.
        leaves: write Digest [pow2(log_size - log_packed)],
    }
    sizes(self) {
        let MerkleSecureLeavesParams { log_size, log_packed } = *self.params;
        check_log(OP, log_size)?;
        let allowed = matches!(log_packed, 0 | 2) && log_packed <= log_size;
        require(OP, allowed, "expected `log_packed` of 0 or 2, at most `log_size`")?;
    }
}

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

op! {
    /// Gathers the authentication path of each query.
    ///
    /// A path is the sibling digests from level `first_level` up to the root.
    ///
    /// The leaf of a position is
    /// [`lifted(position, log_from, log_leaves)`](core_types::air::lifted) in a tree of columns,
    /// and the position shifted to the right by `log_from - log_leaves` in a tree of a layer of FRI
    /// (`folded`). Positions count modulo `2^log_from`.
    pub struct MerklePaths<'a, Q> as "merkle_paths" {
        /// Sizes.
        params: plain &'a MerklePathsParams,
        /// All nodes of the tree.
        nodes: read Digest [pow2(log_leaves + 1) - 1],
        /// The queries.
        positions: read u32 [queries],
        /// The path of each query.
        paths: write Digest [queries, log_leaves - first_level],
    }
    sizes(self) {
        let MerklePathsParams { log_leaves, log_from, first_level, queries, folded } = *self.params;
        check_log(OP, log_leaves)?;
        check_log(OP, log_from)?;
        require(OP, first_level <= log_leaves, "`first_level` is above the root")?;
    }
    valid(self) {
        folded == 0 || folded == 1 && log_from >= log_leaves,
            "expected `folded` of 0 or 1, and no more leaves than positions in a folded tree";
    }
}
