use std::{
    fs,
    path::{Path, PathBuf},
};

use inference::{
    InferenceError, Limits,
    folder::files::{
        io, make_folder, make_marker, read_at_most, read_identity, sync_folder, whole_folder, write_identity, write_new,
    },
    tls::{Endpoint, Fingerprint, Identity, TlsError},
};
use pfss::{KeyBundle, Operation, Party};

use super::gate_file::GateFile;

const BUNDLE: &str = "keys.pfk";
const PEER: &str = "peer";
const USED: &str = "used";
/// No fingerprint is longer.
const MAX_PEER_BYTES: u64 = 1 << 10;

/// The folder of `party` in one that [`write()`] made.
pub(super) fn of_party(folder: &Path, party: Party) -> PathBuf {
    folder.join(format!("party{}", party.number()))
}

/// Writes a folder for each party, whole or not at all. `progress` hears of each step. Gives the sizes of the bundles.
pub(super) fn write(
    out: &Path,
    file: &GateFile,
    deal: impl FnOnce() -> Result<[KeyBundle; 2], InferenceError>,
    mut progress: impl FnMut(&str),
) -> Result<[usize; 2], InferenceError> {
    whole_folder(out, |scratch| {
        progress("deal");
        let (bundles, identities) = (deal()?, [Identity::generate()?, Identity::generate()?]);
        let text = serde_json::to_vec_pretty(file)
            .map_err(|e| InferenceError::Folder { path: out.to_owned(), reason: e.to_string() })?;
        let mut sizes = [0; 2];
        for bundle in bundles {
            let party = bundle.party();
            progress(&party.to_string());
            let folder = of_party(scratch, party);
            make_folder(&folder)?;
            let bytes = bundle.to_bytes();
            write_new(&folder.join(BUNDLE), &bytes)?;
            write_new(&folder.join(GateFile::NAME), &text)?;
            write_identity(&folder, &identities[party.index()])?;
            write_new(&folder.join(PEER), identities[party.peer().index()].fingerprint().to_string().as_bytes())?;
            sync_folder(&folder)?;
            sizes[party.index()] = bytes.len();
        }
        Ok(sizes)
    })
}

/// A party's folder, read and checked, and not used yet.
pub(super) struct PartyFolder {
    path: PathBuf,
    pub(super) operation: Operation,
    pub(super) bundle: KeyBundle,
    identity: Identity,
    peer: Fingerprint,
}

impl PartyFolder {
    /// Reads a folder, every file of it.
    pub(super) fn open(path: &Path) -> Result<Self, InferenceError> {
        let refused = |reason: String| InferenceError::Folder { path: path.to_owned(), reason };
        if fs::symlink_metadata(path.join(USED)).is_ok() {
            return Err(InferenceError::Used { path: path.to_owned() });
        }
        let read = |name: &str, max| {
            let bytes = read_at_most(&path.join(name), max)?;
            bytes.ok_or_else(|| refused(format!("`{name}` is too long")))
        };
        let said = |reason: String| refused(format!("`{}`: {reason}", GateFile::NAME));
        let text = read(GateFile::NAME, GateFile::MAX_BYTES)?;
        let file: GateFile = serde_json::from_slice(&text).map_err(|e| said(e.to_string()))?;
        let operation = file.operation().map_err(|e| said(e.to_string()))?;
        let bundle = read_bundle(&path.join(BUNDLE))?;
        if bundle.gate() != operation.gate() {
            let (expected, got) = (operation.gate().kind(), bundle.gate().kind());
            return Err(refused(format!(
                "`{BUNDLE}` is for another gate: expected {expected} as in `{}`, got {got}",
                GateFile::NAME
            )));
        }
        let peer = String::from_utf8_lossy(&read(PEER, MAX_PEER_BYTES)?).parse();
        let peer = peer.map_err(|e: TlsError| refused(format!("`{PEER}`: {e}")))?;
        Ok(Self { path: path.to_owned(), operation, bundle, identity: read_identity(path)?, peer })
    }

    /// The folders of both parties.
    pub(super) fn open_both(folder: &Path) -> Result<[Self; 2], InferenceError> {
        let [zero, one] = Party::BOTH.map(|party| {
            let path = of_party(folder, party);
            let opened = Self::open(&path)?;
            let got = opened.bundle.party();
            if got == party { Ok(opened) } else { Err(InferenceError::OtherParty { path, expected: party, got }) }
        });
        let both = [zero?, one?];
        let nonces = both.each_ref().map(|folder| folder.bundle.nonce());
        if nonces[0] != nonces[1] {
            let reason = "expected keys of one deal, got those of two".into();
            return Err(InferenceError::Folder { path: folder.to_owned(), reason });
        }
        Ok(both)
    }

    /// This party's side of a connection to the other.
    pub(super) fn endpoint(&self, limits: Limits) -> Endpoint<'_> {
        let (party, protocol) = (self.bundle.party(), self.operation.gate().digest());
        Endpoint { party, identity: &self.identity, peer: self.peer, protocol, limits }
    }

    /// Marks the folder as used, for good, removes the bundle, and gives it. To be called before anything that depends
    /// on the keys leaves this party. Whatever happens then, they cannot be used again, unless somebody made a copy.
    pub(super) fn consume(self) -> Result<(Operation, KeyBundle), InferenceError> {
        if !make_marker(&self.path.join(USED))? {
            return Err(InferenceError::Used { path: self.path });
        }
        sync_folder(&self.path)?;
        let path = self.path.join(BUNDLE);
        fs::remove_file(&path).map_err(io("removing used keys", &path))?;
        Ok((self.operation, self.bundle))
    }
}

/// Reads one bundle, whatever its gate.
pub(super) fn read_bundle(path: &Path) -> Result<KeyBundle, InferenceError> {
    let bytes = read_at_most(path, u64::MAX)?.unwrap_or_default();
    let refused = |reason: String| InferenceError::Folder { path: path.to_owned(), reason };
    KeyBundle::from_bytes(&bytes).map_err(|error| refused(error.to_string()))
}
