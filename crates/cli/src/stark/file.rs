//! Files of proofs, as JSON.

use std::{fs::File, io::Read as _, path::Path};

use anyhow::{Context as _, Result, ensure};
use stark::ProofFile;

use crate::output::Output;

/// The most bytes of a file that is read.
const MOST_BYTES: u64 = 1 << 30;

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
    let mut json = Vec::new();
    File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut json)).with_context(said)?;
    ensure!(json.len() as u64 <= MOST_BYTES, "{}: expected at most {MOST_BYTES} bytes", path.display());
    serde_json::from_slice(&json).with_context(said)
}
