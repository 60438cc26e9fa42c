//! Files of proofs, as JSON.

use std::{fs::File, io::Read as _, path::Path};

use anyhow::{Context as _, Result, anyhow, ensure};
use stark::ProofFile;

use crate::text::shown;

/// The most bytes of a file. What is made of hostile ones takes some ten times as many.
pub(crate) const MOST_BYTES: usize = 1 << 27;

/// The bytes of a file.
///
/// # Errors
/// Refuses more bytes than are read.
pub(crate) fn to_bytes(file: &ProofFile) -> Result<Vec<u8>> {
    let mut json = serde_json::to_vec(file)?;
    json.push(b'\n');
    let got = json.len();
    ensure!(
        got <= MOST_BYTES,
        "expected a proof of at most {MOST_BYTES} bytes, got {got}: take fewer queries or columns"
    );
    Ok(json)
}

/// A warning for a proof that is valid, and that stwo's verifier refuses: with a lifting size it expects openings of the tree of
/// preprocessed columns, which is empty (`MerkleVerifierLifted::verify` of stwo 2.3).
pub(crate) fn refused_by_stwo(file: &ProofFile) -> Option<&'static str> {
    let proof = &file.proof.proof;
    let lifted = proof.config.lifting_log_size.is_some() && proof.sampled_values.first().is_some_and(Vec::is_empty);
    lifted.then_some("its verifier refuses this proof: it takes no lifting size without preprocessed columns")
}

/// Reads a file.
pub(crate) fn read(path: &Path) -> Result<ProofFile> {
    let said = || format!("reading {}", path.display());
    let mut json = Vec::new();
    let most = MOST_BYTES as u64 + 1;
    File::open(path).and_then(|file| file.take(most).read_to_end(&mut json)).with_context(said)?;
    ensure!(json.len() <= MOST_BYTES, "{}: expected at most {MOST_BYTES} bytes", path.display());
    // Its messages repeat what stands in the file.
    serde_json::from_slice(&json).map_err(|error| anyhow!(shown(&error.to_string()))).with_context(said)
}
