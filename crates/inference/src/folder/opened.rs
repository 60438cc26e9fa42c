//! Opened weights on disk: a folder that appears whole or not at all.
//!
//! | file | content |
//! |---|---|
//! | `000.opened`, `001.opened`, .. | the opened weights, in the order of the products |
//! | `weights.sha256` | for the server: the digest of its weights in fixed point, in hexadecimal |

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use pfss::{OpenedWeights, Party};
use sha2::{Digest as _, Sha256};

use super::{
    files::{io, missing, read_at_most, refused, sync_folder, write_new},
    manifest::hex,
    scratch::whole_folder,
};
use crate::{
    InferenceError, Parameters,
    keys::opened::{OpenedPlan, check_opened},
};

const DIGEST_FILE: &str = "weights.sha256";
/// Digits of a SHA-256 in hexadecimal.
const DIGEST_DIGITS: usize = 64;
/// Bytes of opened weights besides their words: a header and a seed.
///
/// Source: the documentation of [`OpenedWeights::to_bytes`].
const OVERHEAD: u64 = 88 + 32;

/// A party's opened weights.
#[derive(Debug)]
pub(super) struct KeptWeights {
    pub(super) weights: Vec<OpenedWeights>,
    /// For the server, the digest of the weights that were opened.
    digest: Option<String>,
}

/// Where the opened weights are, in the folder of the keys that opened them.
pub(super) fn opened_path(folder: &Path) -> PathBuf {
    folder.join("opened")
}

/// Whether the weights were opened and kept.
///
/// # Errors
/// [`InferenceError::Io`] if the system refuses to answer.
pub(super) fn is_opened(folder: &Path) -> Result<bool, InferenceError> {
    let path = opened_path(folder);
    match fs::symlink_metadata(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        found => found.map(|_| true).map_err(io("opening", &path)),
    }
}

/// Removes the opened weights once no run needs them.
///
/// # Errors
/// [`InferenceError::Io`] if they are there and cannot be removed.
pub(super) fn remove_opened(folder: &Path) -> Result<(), InferenceError> {
    let path = opened_path(folder);
    match fs::remove_dir_all(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(io("removing the opened weights", &path)).and_then(|()| sync_folder(folder)),
    }
}

impl KeptWeights {
    /// Reads and checks the opened weights of `party`.
    pub(super) fn read(folder: &Path, plan: &OpenedPlan, party: Party) -> Result<Self, InferenceError> {
        let path = opened_path(folder);
        let file = |name: &str, max: u64| {
            let bytes = read_at_most(&path.join(name), max).map_err(missing(&path, name))?;
            bytes.ok_or_else(|| refused(&path, &format!("`{name}`: expected at most {max} bytes")))
        };
        let mut weights = Vec::with_capacity(plan.products.len());
        for (index, product) in plan.products.iter().enumerate() {
            let name = opened_name(index);
            let bytes = file(&name, OVERHEAD + 8 * product.weights.elements() as u64)?;
            let opened = OpenedWeights::from_bytes(&bytes).map_err(|e| refused(&path, &format!("`{name}`: {e}")))?;
            weights.push(opened);
        }
        check_opened(plan, party, &weights)?;
        let digest = match party {
            Party::Zero => None,
            Party::One => {
                let text = String::from_utf8_lossy(&file(DIGEST_FILE, DIGEST_DIGITS as u64)?).into_owned();
                if text.len() != DIGEST_DIGITS || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                    let reason = format!("`{DIGEST_FILE}`: expected {DIGEST_DIGITS} hexadecimal digits, got `{text}`");
                    return Err(refused(&path, &reason));
                }
                Some(text)
            }
        };
        Ok(Self { weights, digest })
    }

    /// Writes opened weights down to the disk. `server` has the weights themselves.
    pub(super) fn write(
        folder: &Path,
        weights: Vec<OpenedWeights>,
        server: Option<&Parameters>,
    ) -> Result<Self, InferenceError> {
        let digest = server.map(|weights| hex(&weights.digest()));
        whole_folder(&opened_path(folder), |scratch| {
            for (index, opened) in weights.iter().enumerate() {
                write_new(&scratch.join(opened_name(index)), &opened.to_bytes())?;
            }
            digest.as_ref().map_or(Ok(()), |digest| write_new(&scratch.join(DIGEST_FILE), digest.as_bytes()))
        })?;
        Ok(Self { weights, digest })
    }

    /// Refuses weights of the server other than the opened ones.
    pub(super) fn check(&self, folder: &Path, weights: &Parameters) -> Result<(), InferenceError> {
        let got = hex(&weights.digest());
        match &self.digest {
            Some(expected) if !expected.eq_ignore_ascii_case(&got) => {
                let (path, expected) = (folder.to_owned(), expected.clone());
                Err(InferenceError::OtherWeights { path, expected, got })
            }
            _ => Ok(()),
        }
    }

    /// A digest of all opened words, equal for both parties.
    pub(super) fn digest(&self) -> [u8; 32] {
        let mut hasher = Sha256::new();
        self.weights.iter().for_each(|weights| hasher.update(weights.digest()));
        hasher.finalize().into()
    }
}

fn opened_name(index: usize) -> String {
    format!("{index:03}.opened")
}
