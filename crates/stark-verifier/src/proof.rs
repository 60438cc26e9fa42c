//! Proofs, field by field as stwo has them, so that their serde forms are the same.

use alloc::vec::Vec;

use core_types::field::{M31, QM31};
use serde::{Deserialize, Serialize};

use crate::{
    lists::{by_column, by_tree},
    statement::config::PcsConfig,
    transcript::digest::Digest,
};

/// A proof.
///
/// Lists over trees begin with the preprocessed columns and end with the composition polynomial.
///
/// Its JSON, and its bytes in formats that write no names of types (such as postcard and bincode),
/// are identical to stwo's `StarkProof<Blake2sMerkleHasher>`. Reading checks that field elements
/// are canonical, that there are no other fields, which a reader might take for checked, and that
/// there are at most 64 trees and layers, and 2^20 columns. Everything else is the verifier's to
/// check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    /// The parameters that it was made with.
    pub config: PcsConfig,
    /// Root of each tree.
    #[serde(deserialize_with = "by_tree")]
    pub commitments: Vec<Digest>,
    /// The values at the out-of-domain point and its neighbours, by tree and column.
    ///
    /// The neighbours of a column are the ones that the column is read at.
    #[serde(deserialize_with = "by_column")]
    pub sampled_values: Vec<Vec<Vec<QM31>>>,
    /// For each tree, what shows that the queried values are in it.
    #[serde(deserialize_with = "by_tree")]
    pub decommitments: Vec<Decommitment>,
    /// For each tree and column, the values at the queries, in ascending order of the queries.
    #[serde(deserialize_with = "by_column")]
    pub queried_values: Vec<Vec<Vec<M31>>>,
    /// The nonce that shows the work.
    pub proof_of_work: u64,
    /// That the quotients are of low degree.
    pub fri_proof: FriProof,
}

/// An authentication of leaves in a tree.
///
/// It has the digests that the leaves do not imply, level by level upwards.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decommitment {
    /// The digests.
    pub hash_witness: Vec<Digest>,
}

/// A proof of low degree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FriProof {
    /// The quotients, on the circle.
    pub first_layer: FriLayerProof,
    /// What they fold to, on the line.
    #[serde(deserialize_with = "by_tree")]
    pub inner_layers: Vec<FriLayerProof>,
    /// The polynomial that is left.
    pub last_layer_poly: LinePoly,
}

/// One layer that is folded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FriLayerProof {
    /// Values that fold together with queried ones, in ascending order of their positions.
    pub fri_witness: Vec<QM31>,
    /// What shows that both are in the tree.
    pub decommitment: Decommitment,
    /// Root of the tree.
    pub commitment: Digest,
}

/// A polynomial on the line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinePoly {
    /// Coefficients, at bit-reversed places.
    pub coeffs: Vec<QM31>,
    /// Log of their number.
    pub log_size: u32,
}
