//! Authentication paths of queried leaves.

use core_types::{blake2s::Digest, params::merkle::MerklePathsParams};

use crate::{
    BackendError, Queue,
    ops::{Op, columns::check_log, op},
};

op! {
    /// Gathers the authentication path of each query.
    ///
    /// The path holds the sibling digests from level `first_level` up to the root.
    ///
    /// The leaf of a position is
    /// [`lifted(position, log_from, log_leaves)`](core_types::air::lifted) in a tree of columns,
    /// and the position shifted to the right by `log_from - log_leaves` in a tree of a layer of FRI
    /// (`folded`). Positions count modulo `2^log_from`.
    pub struct MerklePaths<'a, Q> as "merkle_paths" {
        /// Sizes.
        params: plain &'a MerklePathsParams,
        /// All nodes of the tree.
        nodes: read Digest,
        /// The queries.
        positions: read u32,
        /// `[queries][log_leaves - first_level]`.
        paths: write Digest,
    }
}

impl<Q: Queue> MerklePaths<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`MerkleOps`](super::MerkleOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let MerklePathsParams { log_leaves, log_from, first_level, queries, folded } = *self.params;
        check_log(Self::NAME, log_leaves)?;
        check_log(Self::NAME, log_from)?;
        if first_level > log_leaves {
            return Err(BackendError::Unsupported { op: Self::NAME, why: "`first_level` is above the root" });
        }
        if folded > 1 || folded == 1 && log_from < log_leaves {
            let why = "expected `folded` of 0 or 1, and no more leaves than positions in a folded tree";
            return Err(BackendError::Unsupported { op: Self::NAME, why });
        }
        let queries = queries as usize;
        let paths = queries.saturating_mul((log_leaves - first_level) as usize);
        self.expect([(2 << log_leaves) - 1, queries, paths])
    }
}
