//! Leaves of a tree of columns of several sizes.

use core_types::{
    blake2s::Digest,
    field::M31,
    params::{columns::ColumnAt, merkle::MerkleLeavesParams},
};

use crate::{
    BackendError, BufferRef, Queue,
    ops::{
        Op,
        columns::{check_columns, check_log},
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
        /// `2^log_leaves` digests.
        leaves: write Digest,
    }
}

impl<Q: Queue> MerkleLeaves<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`MerkleOps`](super::MerkleOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let log_leaves = self.params.log_leaves;
        check_log(Self::NAME, log_leaves)?;
        check_columns(Self::NAME, self.columns, log_leaves, self.values.len())?;
        if !self.columns.is_sorted_by_key(|column| column.log_len) {
            return Err(BackendError::Unsupported { op: Self::NAME, why: "expected columns sorted by length" });
        }
        self.expect([self.values.len(), 1 << log_leaves])
    }
}
