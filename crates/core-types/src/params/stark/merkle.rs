//! Parameters of the ops on Merkle trees.

use bytemuck::{Pod, Zeroable};

use crate::params::sizes::sizes;

/// Leaves of a tree of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct MerkleLeavesParams {
    /// Log of the number of leaves, at least the log length of every column, at most 30.
    pub log_leaves: u32,
}

sizes!(MerkleLeavesParams { log_leaves });

/// A stage of the leaf hash: some columns of a tree, absorbed by one launch.
///
/// The stage runs at the height of the largest column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct MerkleStageParams {
    /// Log of the rows.
    pub log_rows: u32,
    /// Log of the number of chaining values from the columns before; at most `log_rows`.
    ///
    /// It is 0 if this stage is the first.
    pub log_states: u32,
    /// Columns before this stage, a multiple of sixteen.
    pub first: u32,
    /// Columns up to the end of this stage: all, or a multiple of sixteen.
    pub end: u32,
    /// All columns. The stage that ends with the last writes digests, the others chaining values.
    pub columns: u32,
}

sizes!(MerkleStageParams { log_rows, log_states, first, end, columns });

/// Leaves of a tree of one column of the secure field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct MerkleSecureLeavesParams {
    /// Log of the number of values, at most 30.
    pub log_size: u32,
    /// Log of the values of a leaf: 0, or 2 for four that follow each other; at most `log_size`.
    pub log_packed: u32,
}

sizes!(MerkleSecureLeavesParams { log_size, log_packed });

/// A tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct MerkleTreeParams {
    /// Log of the number of leaves, at most 30.
    pub log_leaves: u32,
}

sizes!(MerkleTreeParams { log_leaves });

impl MerkleTreeParams {
    /// Index among all nodes of the first node of `level`, 0 for the leaves.
    ///
    /// Levels follow each other; the root is last.
    #[inline]
    #[must_use]
    pub const fn level(self, level: u32) -> u64 {
        let (all, above) = (2u64 << self.log_leaves, 2u64 << self.log_leaves.wrapping_sub(level));
        all.wrapping_sub(above)
    }
}

/// Authentication paths of some leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct MerklePathsParams {
    /// Log of the number of leaves, at most 30.
    pub log_leaves: u32,
    /// Log of the number of positions that queries are of, at most 30.
    pub log_from: u32,
    /// Level of the first sibling digest, 0 for the leaves, at most `log_leaves`.
    pub first_level: u32,
    /// Number of queries.
    pub queries: u32,
    /// How the leaf of a position is found: 0 by doubling its point, 1 by a right shift.
    ///
    /// The shift is of the position.
    pub folded: u32,
}

sizes!(MerklePathsParams { log_leaves, log_from, first_level, queries, folded });
