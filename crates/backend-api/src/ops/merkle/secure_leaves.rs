//! Leaves of a tree of one column of the secure field.

use core_types::{blake2s::Digest, field::M31, params::merkle::MerkleSecureLeavesParams};

use crate::ops::{
    columns::check_log,
    lengths::{pow2, require},
    op,
};

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
