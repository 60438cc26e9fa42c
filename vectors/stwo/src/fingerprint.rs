//! Proofs by their digests. Needs no prover: the tests of the grid include this file too.

use serde::{Deserialize, Serialize};

use super::statement::Statement;

/// One line of the grid: a proof by its digest.
///
/// The proof itself is not kept. The parameters are in the form of `C`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint<C> {
    /// The statement.
    pub statement: Statement,
    /// The parameters.
    pub config: C,
    /// The seed of the words of its trace, if they are not given by the statement.
    pub seed: u64,
    /// Bytes of the proof in postcard.
    pub bytes: usize,
    /// Their SHA-256.
    pub sha256: String,
}
