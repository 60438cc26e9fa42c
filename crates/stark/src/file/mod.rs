//! Proof files: a statement and its proof.

mod any_statement;
mod encoding;
mod error;
mod known;
mod written;

pub use any_statement::AnyStatement;
pub use encoding::FileEncoding;
pub use error::FileError;
pub use known::KnownStatement;

use backend_api::ops::StarkOps;
use serde::{Deserialize, Serialize};
use stark_airs::Statement;
use stark_verifier::{PcsConfig, Protocol};

use self::written::Written;
use crate::{
    protocol::preprocessed::preprocessed_root,
    statement::{inputs::slices, proof::StatementProof, verify::verify},
};

/// Log of the most leaves of a tree of preprocessed columns that a reader makes.
///
/// Such a tree and its columns take 1.4 GiB of memory.
const MOST_LOG_LEAVES: u32 = 24;

/// The least bits of conjectured security that [`ProofFile::verify`] accepts.
///
/// Proofs of `trefoil stark prove` have this number by default.
pub const MIN_SECURITY_BITS: u32 = 96;

/// A file of a proof, in any format of serde.
///
/// It has a format's name and version, the statement, the claimed sums, and the proof as stwo's
/// serde writes it. Unknown fields are refused, also within the proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct ProofFile {
    /// The statement that the file claims to prove.
    pub statement: KnownStatement,
    /// The proof of the statement.
    pub proof: StatementProof,
}

impl ProofFile {
    /// Verifies the proof of the statement with the proof's parameters.
    ///
    /// The parameters must provide [`MIN_SECURITY_BITS`]. The preprocessed columns are computed on
    /// `q`, after all other checks.
    ///
    /// # Errors
    /// [`FileError::Security`], and as [`verify_with_security`](Self::verify_with_security).
    pub fn verify<Q: StarkOps>(&self, q: &Q) -> Result<(), FileError> {
        self.verify_with_security(q, MIN_SECURITY_BITS)
    }

    /// Verifies as [`verify`](Self::verify) does, with `min_bits` as the least security.
    ///
    /// Bits of conjectured security are [`PcsConfig::security_bits`].
    ///
    /// # Errors
    /// The first check that fails. [`FileError::Security`] and [`FileError::Leaves`] come first,
    /// before anything of the statement's size is computed.
    pub fn verify_with_security<Q: StarkOps>(&self, q: &Q, min_bits: u32) -> Result<(), FileError> {
        let got = self.proof.proof.config.security_bits();
        if got < min_bits {
            return Err(FileError::Security { expected: min_bits, got });
        }
        let (statement, config) = (self.statement.build()?, self.proof.proof.config);
        Self::check_size(&statement, &config)?;
        // First with the root that the file claims: then the sizes below are those that the proof is of.
        let got = self.proof.proof.commitments.first().copied().unwrap_or_default();
        verify(Protocol::V2_3, config, &statement, got, &self.proof)?;
        let columns = statement.preprocessed_values();
        let expected = preprocessed_root(q, &config, &slices(&columns))?;
        if got == expected { Ok(()) } else { Err(FileError::Root { expected, got }) }
    }

    /// Checks that the preprocessed columns of a statement are few enough to compute.
    ///
    /// [`verify`](Self::verify) computes them.
    ///
    /// # Errors
    /// [`FileError::Leaves`] if their tree has more than `2^24` leaves.
    pub fn check_size<S: Statement>(statement: &S, config: &PcsConfig) -> Result<(), FileError> {
        let largest = statement.preprocessed().into_iter().map(|column| column.log_rows).max();
        let Some(largest) = largest else { return Ok(()) };
        let blown_up = largest.saturating_add(config.fri_config.log_blowup_factor);
        let log_leaves = blown_up.max(config.lifting_log_size.unwrap_or(0));
        if log_leaves <= MOST_LOG_LEAVES {
            Ok(())
        } else {
            Err(FileError::Leaves { log_leaves, most: MOST_LOG_LEAVES })
        }
    }
}
