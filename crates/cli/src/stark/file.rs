//! Files of proofs.

use std::{fs, path::Path};

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};
use stark::StatementProof;

use super::known::Known;
use crate::output::Output;

/// What the file is, for those who find one.
const FORMAT: &str = "trefoil-stark-proof";
const VERSION: u32 = 1;

/// A file of a proof: JSON with what is proven, and under `proof` the proof as stwo writes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProofFile {
    format: String,
    version: u32,
    /// The release of stwo whose transcript and trees the proof has.
    stwo: String,
    pub(crate) statement: Known,
    #[serde(flatten)]
    pub(crate) proof: StatementProof,
}

impl ProofFile {
    pub(crate) fn new(statement: Known, proof: StatementProof) -> Self {
        Self { format: FORMAT.to_owned(), version: VERSION, stwo: "2.3".to_owned(), statement, proof }
    }

    /// Writes the file, whole or not at all, and returns its bytes.
    pub(crate) fn write(&self, output: Output) -> Result<usize> {
        let mut json = serde_json::to_vec(self)?;
        json.push(b'\n');
        let bytes = json.len();
        output.finish(&json)?;
        Ok(bytes)
    }

    /// Reads a file.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let said = || format!("reading {}", path.display());
        let json = fs::read(path).with_context(said)?;
        let file: Self = serde_json::from_slice(&json).with_context(said)?;
        ensure!(file.format == FORMAT, "{} is no proof: its format is `{}`", path.display(), file.format);
        ensure!(
            file.version == VERSION && file.stwo == "2.3",
            "{} is of version {} for stwo {}, expected {VERSION} for stwo 2.3",
            path.display(),
            file.version,
            file.stwo
        );
        Ok(file)
    }
}
