//! Leaves of a tree of one column of the secure field.

use core_types::{blake2s::Digest, field::M31, params::merkle::MerkleSecureLeavesParams};

use crate::{
    BackendError, Queue,
    ops::{
        Op,
        columns::{check_log, planes},
        op,
    },
};

op! {
    /// Writes the leaves of a tree of one column of the secure field.
    ///
    /// The column has four planes of coordinates. A leaf is the digest of the four words of a
    /// value, or of the sixteen words of four consecutive values, value by value.
    pub struct MerkleSecureLeaves<'a, Q> as "merkle_secure_leaves" {
        /// Number of values, and how many make a leaf.
        params: plain &'a MerkleSecureLeavesParams,
        /// Four planes of `2^log_size` words.
        values: read M31,
        /// `2^(log_size - log_packed)` digests.
        leaves: write Digest,
    }
}

impl<Q: Queue> MerkleSecureLeaves<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`MerkleOps`](super::MerkleOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let MerkleSecureLeavesParams { log_size, log_packed } = *self.params;
        check_log(Self::NAME, log_size)?;
        if !(log_packed == 0 || log_packed == 2) || log_packed > log_size {
            return Err(BackendError::Unsupported {
                op: Self::NAME,
                why: "expected `log_packed` of 0 or 2, at most `log_size`",
            });
        }
        self.expect([planes(1, log_size), 1 << (log_size - log_packed)])
    }
}
