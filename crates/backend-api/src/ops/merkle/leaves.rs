//! Leaves of a tree of columns of several sizes.

use core_types::{
    blake2s::Digest,
    field::M31,
    params::{columns::ColumnAt, merkle::MerkleLeavesParams},
};

use crate::{
    BufferRef,
    ops::{
        columns::{check_columns, check_log},
        lengths::pow2,
        op,
    },
};

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
