//! The checks that each folder of keys takes, for a single run or as part of a deal for many.

use std::{
    fs::{self, File},
    io::{ErrorKind, Read as _, Seek as _},
    path::{Path, PathBuf},
};

use pfss::{BundleError, Party};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::{
    files::{content_digest, io, make_marker, missing, read_at_most, read_identity, refused, sync_folder},
    manifest::{KeyFile, Manifest, hex, key_name},
    model::model_of,
};
use crate::{
    Architecture, InferenceError, Model,
    tls::{Fingerprint, Identity},
};

const USED: &str = "used";

/// A folder whose manifest names the expected party and a known model.
#[derive(Debug)]
pub(super) struct CheckedFolder {
    pub(super) path: PathBuf,
    pub(super) manifest: Manifest,
    pub(super) model: Model,
}

impl CheckedFolder {
    /// The folder with this manifest. `given` is the model that the party expects, if it has one.
    pub(super) fn new(path: &Path, manifest: Manifest, given: Option<&Architecture>) -> Result<Self, InferenceError> {
        let model = model_of(path, &manifest, given)?;
        Ok(Self { path: path.to_owned(), manifest, model })
    }

    /// Checks that the files of keys are large enough for the batch.
    ///
    /// A plan takes memory in proportion to the batch, so this comes before it. Models that are not
    /// built in may need fewer bytes than their inputs have; their tensors limit the batch instead.
    pub(super) fn check_size(&self) -> Result<(), InferenceError> {
        if self.model.architecture().described().is_some() {
            return Ok(());
        }
        let count = self.model.count();
        let least = 8 * (count * self.model.input_len()) as u64;
        let held = held_bytes(&self.path, self.manifest.keys.len())?;
        if held < least {
            let reason = format!("expected at least {least} bytes of keys for {count} images, got {held}");
            return Err(refused(&self.path, &reason));
        }
        Ok(())
    }

    /// Checks that the manifest is for the plan with this digest and lists `files` files of keys.
    pub(super) fn check_plan(&self, digest: [u8; 32], files: usize) -> Result<(), InferenceError> {
        if self.manifest.plan != hex(&digest) {
            let reason = "dealt for a different plan of this model; deal again with this program";
            return Err(refused(&self.path, reason));
        }
        if self.manifest.keys.len() != files {
            let got = self.manifest.keys.len();
            return Err(refused(&self.path, &format!("expected {files} files of keys, manifest has {got}")));
        }
        Ok(())
    }

    /// Reads one file of keys for each of `kinds`, from the first one on, and parses it.
    ///
    /// `progress` is called with the step of each file before the file is read.
    pub(super) fn read_keys<T, K>(
        &self,
        kinds: impl IntoIterator<Item = T>,
        progress: &mut dyn FnMut(&str),
        parse: impl Fn(T, &[u8]) -> Result<K, BundleError>,
    ) -> Result<Vec<K>, InferenceError> {
        let read = |((index, file), kind): ((usize, &KeyFile), T)| -> Result<K, InferenceError> {
            progress(&file.step);
            Ok(parse(kind, &self.read_file(index, file)?)?)
        };
        self.manifest.keys.iter().enumerate().zip(kinds).map(read).collect()
    }

    /// Reads a file of keys and checks it against the manifest.
    fn read_file(&self, index: usize, file: &KeyFile) -> Result<Zeroizing<Vec<u8>>, InferenceError> {
        let mut opened = self.open_file(index, file)?;
        // the file has this length
        let mut bytes = Zeroizing::new(vec![0u8; file.bytes as usize]);
        opened.read_exact(&mut bytes).map_err(io("reading", &self.path.join(&file.file)))?;
        Ok(bytes)
    }

    /// Opens a file of keys, checks it against the manifest, and returns it at its start.
    ///
    /// The file is read in pieces: its length takes no memory.
    pub(super) fn open_file(&self, index: usize, file: &KeyFile) -> Result<File, InferenceError> {
        let refused = |reason: String| refused(&self.path, &format!("`{}`: {reason}", file.file));
        let name = key_name(index);
        if file.file != name {
            return Err(refused(format!("expected the name `{name}`")));
        }
        let path = self.path.join(&name);
        let mut opened = File::open(&path).map_err(io("opening", &path)).map_err(missing(&self.path, &name))?;
        let bytes = opened.metadata().map_err(io("reading", &path))?.len();
        if bytes != file.bytes {
            return Err(refused(format!("expected {} bytes (from the manifest), got {bytes}", file.bytes)));
        }
        let (expected, got) = (&file.sha256, hex(&content_digest(&mut opened).map_err(io("reading", &path))?));
        if *expected != got {
            return Err(refused(format!("expected SHA-256 {expected}, got {got}")));
        }
        opened.rewind().map_err(io("reading", &path))?;
        Ok(opened)
    }

    /// Reads this party's certificate and its key, and returns the peer's fingerprint with them.
    pub(super) fn identity(&self) -> Result<(Identity, Fingerprint), InferenceError> {
        let fingerprint = |text: &str| text.parse::<Fingerprint>().map_err(|e| refused(&self.path, &e.to_string()));
        let identity = read_identity(&self.path, fingerprint(&self.manifest.certificate)?)?;
        Ok((identity, fingerprint(&self.manifest.peer)?))
    }

    /// The digest of the plan and the name of the deal, which both sides of a connection compare.
    pub(super) fn protocol(&self) -> [u8; 32] {
        Sha256::digest(format!("{} {}", self.manifest.plan, self.manifest.deal)).into()
    }

    /// Bytes of keys on disk.
    pub(super) fn key_bytes(&self) -> u64 {
        self.manifest.keys.iter().map(|key| key.bytes).sum()
    }
}

/// Reads the manifest of a folder of `party`.
pub(super) fn read_manifest_of(path: &Path, party: Party) -> Result<Manifest, InferenceError> {
    let manifest = read_manifest(path)?;
    let owner = Party::try_from(manifest.party).map_err(|e| refused(path, &e.to_string()))?;
    if owner != party {
        return Err(InferenceError::OtherParty { path: path.to_owned(), expected: party, got: owner });
    }
    Ok(manifest)
}

/// Reads the manifest of a folder, of either party.
pub(super) fn read_manifest(path: &Path) -> Result<Manifest, InferenceError> {
    let bytes = read_at_most(&path.join(Manifest::FILE), Manifest::MAX_BYTES)?;
    let bytes = bytes.ok_or_else(|| refused(path, &format!("`{}` is too long", Manifest::FILE)))?;
    let manifest: Manifest =
        serde_json::from_slice(&bytes).map_err(|e| refused(path, &format!("`{}`: {e}", Manifest::FILE)))?;
    if manifest.format != Manifest::FORMAT {
        return Err(refused(path, &format!("expected format {}, got {}", Manifest::FORMAT, manifest.format)));
    }
    Ok(manifest)
}

/// Whether the keys of a folder were used.
pub(super) fn is_used(path: &Path) -> bool {
    fs::symlink_metadata(path.join(USED)).is_ok()
}

/// Marks a folder as used, for good, and removes its `count` files of keys.
///
/// The marker is on disk before a file is removed, and all are removed before this returns.
///
/// # Errors
/// [`InferenceError::Used`] if another process got there first.
pub(super) fn spend(path: &Path, count: usize) -> Result<(), InferenceError> {
    if !make_marker(&path.join(USED))? {
        return Err(InferenceError::Used { path: path.to_owned() });
    }
    sync_folder(path)?;
    remove_keys(path, count)
}

/// Removes `count` files of used keys.
///
/// A process that was killed may have removed some before.
pub(super) fn remove_keys(path: &Path, count: usize) -> Result<(), InferenceError> {
    for index in 0..count {
        let file = path.join(key_name(index));
        match fs::remove_file(&file) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(io("removing used keys", &file)(error)),
            _ => {}
        }
    }
    sync_folder(path)
}

/// Bytes of the first `count` files of keys.
fn held_bytes(folder: &Path, count: usize) -> Result<u64, InferenceError> {
    let size = |index| {
        let name = key_name(index);
        let path = folder.join(&name);
        let size = fs::metadata(&path).map_err(io("opening", &path)).map_err(missing(folder, &name));
        size.map(|size| size.len())
    };
    (0..count).try_fold(0u64, |sum, index| Ok(sum.saturating_add(size(index)?)))
}
