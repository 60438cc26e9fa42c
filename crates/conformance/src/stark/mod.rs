//! Whole proofs: all op sets of a proof together.
//!
//! The oracle is stwo 2.3: each proof has the digest of the one that its own prover made of the
//! same statement.

mod proofs;

use crate::OpSpec;

/// The specification of whole proofs.
#[must_use]
pub fn specs() -> Vec<OpSpec> {
    vec![proofs::prove()]
}
