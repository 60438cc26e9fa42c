//! Merkle trees over Blake2s, as stwo 2.3 has them.
//!
//! All columns of a tree are lifted to its height: leaf `j` of `2^h` takes from a column of `2^l`
//! values the one at position [`lifted(j, h, l)`](core_types::air::lifted), which belongs to the
//! same point doubled; a column of one value gives it to every leaf. A leaf is the digest of the
//! words of its values, the smallest columns first; a node is the digest of its two children.
//! Digests of all levels are in one buffer: the leaves, the level above them, and so on, the root
//! last.

mod leaves;
mod paths;
mod secure_leaves;
mod tree;

pub use leaves::MerkleLeaves;
pub use paths::MerklePaths;
pub use secure_leaves::MerkleSecureLeaves;
pub use tree::MerkleTree;

pub use super::sets::MerkleOps;
