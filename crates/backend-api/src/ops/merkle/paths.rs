//! Authentication paths of queried leaves.

use core_types::{blake2s::Digest, params::merkle::MerklePathsParams};

use crate::ops::{
    columns::check_log,
    lengths::{pow2, require},
    op,
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
