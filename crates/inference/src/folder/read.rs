//! A folder of keys as a party opens it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use pfss::{KeyBundle, MatrixTriple, Party};
use sha2::{Digest as _, Sha256};

use super::{
    Manifest,
    files::{digest, io, make_marker, missing, read_at_most, read_identity, sync_folder},
    manifest::{KeyFile, hex},
};
use crate::{
    InferenceError, Limits, Model,
    keys::{
        deal::{Deal, Key},
        queue::KeyQueue,
    },
    party::Role,
    tls::{Endpoint, Fingerprint, Identity},
};

const USED: &str = "used";

/// A folder whose keys were read and checked, but not used yet.
#[derive(Debug)]
pub struct KeyFolder {
    path: PathBuf,
    manifest: Manifest,
    model: Model,
    party: Party,
    identity: Identity,
    peer: Fingerprint,
    keys: Vec<Key>,
}

impl KeyFolder {
    /// Reads and checks every file in the folder of `party`.
    ///
    /// Files are checked against the folder's manifest and the plan of its model. `progress` is
    /// called with the step of each file of keys before the file is read.
    ///
    /// # Errors
    /// [`InferenceError::Used`] if it was used before, [`InferenceError::OtherParty`] if it is the
    /// other party's, [`InferenceError::Folder`] or [`InferenceError::Pfss`] if anything in it
    /// differs from the manifest and the plan, [`InferenceError::Io`] if it cannot be read.
    pub fn open(path: &Path, party: Party, mut progress: impl FnMut(&str)) -> Result<Self, InferenceError> {
        let refused = |reason: String| InferenceError::Folder { path: path.to_owned(), reason: one_line(&reason) };
        let manifest = Self::manifest(path)?;
        let owner = Party::try_from(manifest.party).map_err(|e| refused(e.to_string()))?;
        if owner != party {
            return Err(InferenceError::OtherParty { path: path.to_owned(), expected: party, got: owner });
        }
        if Self::is_used(path) {
            return Err(InferenceError::Used { path: path.to_owned() });
        }
        let architecture = manifest.model.parse().map_err(|e: InferenceError| refused(e.to_string()))?;
        let model = Model::new(architecture, manifest.count).map_err(|e| refused(e.to_string()))?;
        let model = model.preferring(manifest.prefer);
        // A plan takes memory in proportion to the batch: a folder has to hold keys of that size first.
        let (least, held) = (8 * (model.count() * model.input_len()) as u64, held_bytes(path, manifest.keys.len())?);
        if held < least {
            let count = model.count();
            return Err(refused(format!("expected at least {least} bytes of keys for {count} images, got {held}")));
        }
        let plan = model.plan()?;
        if manifest.plan != hex(&plan.digest()) {
            return Err(refused("dealt for a different plan of this model; deal again with this program".into()));
        }
        let expected = plan.deals().count();
        if manifest.keys.len() != expected {
            return Err(refused(format!("expected {expected} files of keys, manifest has {}", manifest.keys.len())));
        }
        let read = |(index, (deal, file)): (usize, (&Deal, &KeyFile))| {
            progress(&file.step);
            read_key(path, index, deal, file)
        };
        let keys = plan.deals().zip(&manifest.keys).enumerate().map(read).collect::<Result<Vec<_>, _>>()?;
        KeyQueue::check(&plan, party, &keys)?;
        let fingerprint = |text: &str| text.parse::<Fingerprint>().map_err(|e| refused(e.to_string()));
        let identity = read_identity(path, fingerprint(&manifest.certificate)?)?;
        let peer = fingerprint(&manifest.peer)?;
        Ok(Self { path: path.to_owned(), manifest, model, party, identity, peer, keys })
    }

    /// The manifest of a folder, of either party.
    ///
    /// # Errors
    /// [`InferenceError::Folder`] if it is malformed or of another format, [`InferenceError::Io`]
    /// if it cannot be read.
    pub fn manifest(path: &Path) -> Result<Manifest, InferenceError> {
        let refused = |reason: String| InferenceError::Folder { path: path.to_owned(), reason: one_line(&reason) };
        let bytes = read_at_most(&path.join(Manifest::FILE), Manifest::MAX_BYTES)?;
        let bytes = bytes.ok_or_else(|| refused(format!("`{}` is too long", Manifest::FILE)))?;
        let manifest: Manifest =
            serde_json::from_slice(&bytes).map_err(|e| refused(format!("`{}`: {e}", Manifest::FILE)))?;
        if manifest.format != Manifest::FORMAT {
            return Err(refused(format!("expected format {}, got {}", Manifest::FORMAT, manifest.format)));
        }
        Ok(manifest)
    }

    /// Whether the keys of a folder were used.
    #[must_use]
    pub fn is_used(path: &Path) -> bool {
        fs::symlink_metadata(path.join(USED)).is_ok()
    }

    /// A digest of a party's folder.
    ///
    /// It is a digest of the manifest, and so of the keys and of both parties' certificates.
    ///
    /// # Errors
    /// [`InferenceError::Io`].
    pub fn digest(path: &Path) -> Result<String, InferenceError> {
        digest(path, [Manifest::FILE])
    }

    /// The model that the keys are for.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Bytes of keys on disk.
    #[must_use]
    pub fn key_bytes(&self) -> u64 {
        self.manifest.keys.iter().map(|key| key.bytes).sum()
    }

    /// This party's side of a connection to the party of the other folder.
    #[must_use]
    pub fn endpoint(&self, limits: Limits) -> Endpoint<'_> {
        let protocol = Sha256::digest(format!("{} {}", self.manifest.plan, self.manifest.deal)).into();
        Endpoint { party: self.party, identity: &self.identity, peer: self.peer, protocol, limits }
    }

    /// Marks the folder as used, for good, removes the files of keys, and returns the keys.
    ///
    /// The inputs of the run are checked first. Call this before anything that depends on the keys
    /// leaves this party. Whatever happens afterwards, they cannot be used again.
    ///
    /// Nothing protects against a copy of the folder made earlier.
    ///
    /// # Errors
    /// With the folder unused: [`InferenceError::OtherParty`] if `role` is the other party's, and
    /// as [`Role::check`]. [`InferenceError::Used`] if another process got there first,
    /// [`InferenceError::Io`] if the mark cannot be made.
    pub fn consume(self, role: Role<'_>) -> Result<Vec<Key>, InferenceError> {
        if role.party() != self.party {
            return Err(InferenceError::OtherParty { path: self.path, expected: role.party(), got: self.party });
        }
        role.check(&self.model)?;
        if !make_marker(&self.path.join(USED))? {
            return Err(InferenceError::Used { path: self.path });
        }
        sync_folder(&self.path)?;
        for key in &self.manifest.keys {
            let path = self.path.join(&key.file);
            fs::remove_file(&path).map_err(io("removing used keys", &path))?;
        }
        Ok(self.keys)
    }
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

fn key_name(index: usize) -> String {
    format!("{index:03}.key")
}

fn read_key(folder: &Path, index: usize, deal: &Deal, file: &KeyFile) -> Result<Key, InferenceError> {
    let refused = |reason: String| InferenceError::Folder {
        path: folder.to_owned(),
        reason: one_line(&format!("`{}`: {reason}", file.file)),
    };
    let name = key_name(index);
    if file.file != name {
        return Err(refused(format!("expected the name `{name}`")));
    }
    let bytes = read_at_most(&folder.join(&name), file.bytes).map_err(missing(folder, &name))?;
    let bytes = bytes.filter(|bytes| bytes.len() as u64 == file.bytes);
    let bytes = bytes.ok_or_else(|| refused(format!("expected {} bytes (from the manifest)", file.bytes)))?;
    let (expected, got) = (&file.sha256, hex(&Sha256::digest(&bytes[..])));
    if *expected != got {
        return Err(refused(format!("expected SHA-256 {expected}, got {got}")));
    }
    Ok(match deal {
        Deal::Gate(..) | Deal::Alongside(..) => Key::Gate(KeyBundle::from_bytes(&bytes)?),
        Deal::Matrix(..) => Key::Matrix(MatrixTriple::from_bytes(&bytes)?),
    })
}

/// The most characters of a reason, which may quote a manifest.
const MAX_REASON: usize = 400;

/// A reason on one line.
///
/// Control characters are escaped, and a long reason is truncated.
fn one_line(reason: &str) -> String {
    let mut line = String::new();
    for (count, character) in reason.chars().enumerate() {
        if count == MAX_REASON {
            line.push_str("..");
            break;
        }
        match character.is_control() {
            true => line.extend(character.escape_default()),
            false => line.push(character),
        }
    }
    line
}
