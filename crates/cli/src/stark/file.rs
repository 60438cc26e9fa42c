//! Files of proofs.

use std::{fs::File, io::Read as _, path::Path};

use anyhow::{Context as _, Result, anyhow, ensure};
use clap::ValueEnum;
use stark::{AnyStatement, FileEncoding, ProofFile, Statement as _};

use crate::text::shown;

/// How a proof is written.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Format {
    /// JSON, readable by stwo's serde.
    Json,
    /// Postcard, about a third of the size.
    Binary,
}

impl Format {
    /// The size of a proof, for the report.
    pub(crate) fn size(self, bytes: usize) -> String {
        let format = match self {
            Self::Json => "of JSON",
            Self::Binary => "in binary",
        };
        format!("{} KiB {format}", bytes.div_ceil(1024))
    }

    /// The library's name of the format.
    pub(crate) const fn encoding(self) -> FileEncoding {
        match self {
            Self::Json => FileEncoding::Json,
            Self::Binary => FileEncoding::Binary,
        }
    }

    /// A lower bound of the bytes of an opened value in a file.
    ///
    /// Most values have ten digits, or five bytes.
    pub(crate) const fn bytes_of_value(self) -> u64 {
        match self {
            Self::Json => 9,
            Self::Binary => 4,
        }
    }
}

/// A warning for a valid proof that stwo's verifier refuses or may refuse.
///
/// With a lifting size, stwo's verifier expects openings of the tree of preprocessed columns even
/// if that tree is empty. If that tree is lower than the others, positions may be out of order. See
/// docs/adr/0020-the-verifier-stands-alone.md.
pub(crate) fn refused_by_stwo(file: &ProofFile) -> Option<&'static str> {
    let proof = &file.proof.proof;
    let is_empty = proof.sampled_values.first().is_some_and(Vec::is_empty);
    if proof.config.lifting_log_size.is_some() {
        return is_empty.then_some("its verifier refuses this proof: a lifting size requires preprocessed columns");
    }
    let is_lower = file.statement.build().is_ok_and(|statement| has_low_preprocessed(&statement));
    is_lower.then_some("its verifier may refuse this proof: the preprocessed columns are lower than the others")
}

/// Whether the preprocessed columns of a statement are lower than its traces.
fn has_low_preprocessed(statement: &AnyStatement) -> bool {
    let preprocessed = statement.preprocessed().into_iter().map(|column| column.log_rows).max();
    preprocessed.is_some_and(|highest| statement.heights().into_iter().any(|height| height > highest))
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

#[cfg(test)]
mod tests {
    use stark::KnownStatement;

    use super::*;

    #[test]
    fn preprocessed_columns_below_a_trace_are_noticed() {
        // Its tables have 2^10 rows; its rounds are eight for each block.
        let blake = |log_blocks| KnownStatement::Blake2s { log_blocks, digest: [0; 8] };
        let is_low = |statement: KnownStatement| has_low_preprocessed(&statement.build().unwrap());
        assert!(!is_low(blake(1)) && is_low(blake(16)));
        assert!(!is_low(KnownStatement::WideFibonacci { log_rows: 20, columns: 3 }));
    }
}
