//! A proof of a statement.

use core_types::field::QM31;
use serde::{Deserialize, Serialize};
use stark_verifier::Proof;

/// A proof of a statement: stwo's proof, and the claimed sums that its transcript holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatementProof {
    /// The sum of all fractions of each component, in the order of the components.
    ///
    /// It is empty if the statement has no look-ups.
    pub claimed_sums: Vec<QM31>,
    /// The proof, in stwo's form.
    pub proof: Proof,
}
