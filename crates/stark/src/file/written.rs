//! The form of a file.

use core_types::field::QM31;
use serde::{Deserialize, Serialize};
use stark_verifier::Proof;

use super::{FileError, KnownStatement, ProofFile};
use crate::statement::proof::StatementProof;

/// The file format's name, readable by anyone who finds a file.
const FORMAT: &str = "trefoil-stark-proof";
const VERSION: u32 = 1;
/// The release of stwo whose transcript and trees the proof has.
const STWO: &str = "2.3";

/// A file, field by field.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a proof file")]
pub(super) struct Written {
    format: String,
    version: u32,
    stwo: String,
    statement: KnownStatement,
    claimed_sums: Vec<QM31>,
    proof: Proof,
}

impl From<ProofFile> for Written {
    fn from(file: ProofFile) -> Self {
        let ProofFile { statement, proof: StatementProof { claimed_sums, proof } } = file;
        Self { format: FORMAT.to_owned(), version: VERSION, stwo: STWO.to_owned(), statement, claimed_sums, proof }
    }
}

impl TryFrom<Written> for ProofFile {
    type Error = FileError;

    fn try_from(written: Written) -> Result<Self, FileError> {
        let Written { format, version, stwo, statement, claimed_sums, proof } = written;
        if format != FORMAT {
            return Err(FileError::Format { expected: FORMAT, got: format });
        }
        if version != VERSION || stwo != STWO {
            return Err(FileError::Version { expected: (VERSION, STWO), got: (version, stwo) });
        }
        Ok(Self { statement, proof: StatementProof { claimed_sums, proof } })
    }
}
