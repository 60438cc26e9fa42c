//! Files of proofs, as JSON.

use std::{fs, path::Path};

use anyhow::{Context as _, Result};
use stark::ProofFile;

use crate::output::Output;

/// Writes a file, whole or not at all, and returns its bytes.
pub(crate) fn write(file: &ProofFile, output: Output) -> Result<usize> {
    let mut json = serde_json::to_vec(file)?;
    json.push(b'\n');
    let bytes = json.len();
    output.finish(&json)?;
    Ok(bytes)
}

/// Reads a file.
pub(crate) fn read(path: &Path) -> Result<ProofFile> {
    let said = || format!("reading {}", path.display());
    serde_json::from_slice(&fs::read(path).with_context(said)?).with_context(said)
}
