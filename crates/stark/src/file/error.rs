//! Why a file of a proof is refused.

use stark_airs::AirError;
use stark_verifier::Digest;
use thiserror::Error;

use crate::{error::ProverError, statement::verify::VerifyError};

/// Why a file of a proof is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FileError {
    /// The bytes are no file of a proof.
    #[error("not a proof file of `trefoil stark prove`: {reason}")]
    Encoding {
        /// The error of the format's reader. It may repeat text from the file.
        reason: String,
    },
    /// The file is longer than any that is written or read.
    #[error("expected a proof file of at most {most} bytes, got {got}")]
    Size {
        /// The most bytes.
        most: usize,
        /// Its bytes.
        got: usize,
    },
    /// The file is none of a proof.
    #[error("expected the format `{expected}`, got `{got}`")]
    Format {
        /// The format that is read.
        expected: &'static str,
        /// The format in the file.
        got: String,
    },
    /// The file is of another version, or its proof of another release of stwo.
    #[error("expected version {} for stwo {}, got {} for stwo {}", .expected.0, .expected.1, .got.0, .got.1)]
    Version {
        /// The version that is read, and the release.
        expected: (u32, &'static str),
        /// The version in the file, and its stwo release.
        got: (u32, String),
    },
    /// There is no such statement.
    #[error("the statement is invalid")]
    Statement(#[from] AirError),
    /// A circuit has more gates than a verifier makes.
    #[error("expected at most {most} gates, got {got}")]
    Gates {
        /// The most that are made.
        most: u32,
        /// Gates of the circuit.
        got: u32,
    },
    /// The tree of preprocessed columns is larger than a reader makes.
    #[error("expected preprocessed columns with a tree of at most 2^{most} leaves, got 2^{log_leaves}")]
    Leaves {
        /// Log of the number of leaves.
        log_leaves: u32,
        /// Log of the most that are made.
        most: u32,
    },
    /// A proof with these parameters shows too little.
    #[error("expected at least {expected} bits of conjectured security, got {got}")]
    Security {
        /// The least bits that are accepted.
        expected: u32,
        /// The bits of the proof's parameters.
        got: u32,
    },
    /// The proof does not show the statement.
    #[error("the proof does not prove the statement")]
    Proof(#[from] VerifyError),
    /// The preprocessed columns differ from the statement's.
    #[error("expected preprocessed columns with root {expected}, got {got}")]
    Root {
        /// The root that they have.
        expected: Digest,
        /// The root that the proof has.
        got: Digest,
    },
    /// The preprocessed columns could not be computed.
    #[error("the preprocessed columns cannot be computed")]
    Preprocessed(#[from] ProverError),
}
