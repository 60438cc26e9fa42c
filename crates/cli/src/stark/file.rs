//! Files of proofs.

use std::{fs::File, io::Read as _, path::Path};

use anyhow::{Context as _, Result, anyhow, ensure};
use clap::ValueEnum;
use stark::{FileEncoding, ProofFile};

use crate::text::shown;

/// How a proof is written.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Format {
    /// Text, whose proof stwo's serde reads.
    Json,
    /// About a third of the size.
    Binary,
}

impl Format {
    /// That of the library.
    pub(crate) const fn encoding(self) -> FileEncoding {
        match self {
            Self::Json => FileEncoding::Json,
            Self::Binary => FileEncoding::Binary,
        }
    }

    /// Bytes of an opened value in a file, at least: most have ten digits or five bytes, and there is much beside them.
    pub(crate) const fn bytes_of_value(self) -> u64 {
        match self {
            Self::Json => 9,
            Self::Binary => 4,
        }
    }
}

/// A warning for a proof that is valid, and that stwo's verifier refuses: with a lifting size it expects openings of the tree of
/// preprocessed columns, which is empty (`MerkleVerifierLifted::verify` of stwo 2.3).
pub(crate) fn refused_by_stwo(file: &ProofFile) -> Option<&'static str> {
    let proof = &file.proof.proof;
    let lifted = proof.config.lifting_log_size.is_some() && proof.sampled_values.first().is_some_and(Vec::is_empty);
    lifted.then_some("its verifier refuses this proof: it takes no lifting size without preprocessed columns")
}

/// Reads a file in either format.
pub(crate) fn read(path: &Path) -> Result<ProofFile> {
    let said = || format!("reading {}", path.display());
    let (mut bytes, most) = (Vec::new(), ProofFile::MOST_BYTES);
    File::open(path).and_then(|file| file.take(most as u64 + 1).read_to_end(&mut bytes)).with_context(said)?;
    ensure!(bytes.len() <= most, "{}: expected at most {most} bytes", path.display());
    // Its messages repeat what stands in the file.
    ProofFile::from_bytes(&bytes).map_err(|error| anyhow!(shown(&error.to_string()))).with_context(said)
}
