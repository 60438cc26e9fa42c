//! The two parties' folders with keys of one computation: written whole, used once.

use core::ops::Deref;
use std::{
    fs,
    path::{Path, PathBuf},
};

use inference::{
    InferenceError, Limits,
    folder::{
        files::{
            digest, io, make_folder, make_marker, missing, read_at_most, read_identity, sync_folder, write_identity,
            write_new,
        },
        whole_folder,
    },
    tls::{Endpoint, Fingerprint, Identity, TlsError},
};
use pfss::{KeyBundle, Party};

use super::{computation::Computation, gate_file::GateFile};
use crate::private::kind::folder_of;

/// The bundle of each gate of a computation, in the order in which they run.
const BUNDLES: [&str; 2] = ["keys.pfk", "shift.pfk"];
/// The fingerprints of the party's certificate and of the other party's.
const CERTIFICATE: &str = "certificate";
const PEER: &str = "peer";
const USED: &str = "used";
/// No fingerprint is longer.
const MAX_FINGERPRINT_BYTES: u64 = 1 << 10;

/// What [`write()`] wrote for a party.
pub(super) struct Written {
    /// Bytes of bundles.
    pub(super) bytes: usize,
    /// The digest of the folder.
    pub(super) digest: String,
}

/// Writes a folder for each party, whole or not at all. `progress` hears of each step.
pub(super) fn write(
    out: &Path,
    file: &GateFile,
    deal: impl FnOnce() -> Result<[Vec<KeyBundle>; 2], InferenceError>,
    mut progress: impl FnMut(&str),
) -> Result<Vec<Written>, InferenceError> {
    whole_folder(out, |scratch| {
        progress("deal");
        let (both, identities) = (deal()?, [Identity::generate()?, Identity::generate()?]);
        let text = serde_json::to_vec_pretty(file)
            .map_err(|e| InferenceError::Folder { path: out.to_owned(), reason: e.to_string() })?;
        let mut written = Vec::new();
        for (party, bundles) in Party::BOTH.into_iter().zip(both) {
            progress(&party.to_string());
            let folder = folder_of(scratch, party);
            make_folder(&folder)?;
            let mut bytes = 0;
            for (bundle, name) in bundles.iter().zip(BUNDLES) {
                let bundle = bundle.to_bytes();
                write_new(&folder.join(name), &bundle)?;
                bytes += bundle.len();
            }
            write_new(&folder.join(GateFile::NAME), &text)?;
            write_identity(&folder, &identities[party.index()])?;
            for (name, owner) in [(CERTIFICATE, party), (PEER, party.peer())] {
                write_new(&folder.join(name), identities[owner.index()].fingerprint().to_string().as_bytes())?;
            }
            sync_folder(&folder)?;
            written.push(Written { bytes, digest: folder_digest(&folder, bundles.len())? });
        }
        Ok(written)
    })
}

/// The digest of a party's folder with `bundles` bundles.
fn folder_digest(folder: &Path, bundles: usize) -> Result<String, InferenceError> {
    let files = [GateFile::NAME, CERTIFICATE, PEER].into_iter().chain(BUNDLES.into_iter().take(bundles));
    digest(folder, files)
}

/// A party's folder, read and checked, and not used yet.
pub(super) struct PartyFolder {
    path: PathBuf,
    pub(super) computation: Computation,
    pub(super) bundles: Vec<KeyBundle>,
    identity: Identity,
    peer: Fingerprint,
}

impl PartyFolder {
    /// Reads a folder, every file of it.
    pub(super) fn open(path: &Path) -> Result<Self, InferenceError> {
        if is_used(path) {
            return Err(InferenceError::Used { path: path.to_owned() });
        }
        let computation = read_gate(path)?;
        let bundles = read_bundles(path, &computation)?;
        let identity = read_identity(path, read_fingerprint(path, CERTIFICATE)?)?;
        Ok(Self { path: path.to_owned(), computation, bundles, identity, peer: read_peer(path)? })
    }

    /// The folders of both parties.
    pub(super) fn open_both(folder: &Path) -> Result<[Self; 2], InferenceError> {
        let [zero, one] = Party::BOTH.map(|party| {
            let path = folder_of(folder, party);
            let opened = Self::open(&path)?;
            let got = opened.party();
            if got == party { Ok(opened) } else { Err(InferenceError::OtherParty { path, expected: party, got }) }
        });
        let both = [zero?, one?];
        let nonces = both.each_ref().map(|folder| folder.bundles.iter().map(KeyBundle::nonce).collect::<Vec<_>>());
        if nonces[0] != nonces[1] {
            let reason = "expected keys of one deal, got keys of two".into();
            return Err(InferenceError::Folder { path: folder.to_owned(), reason });
        }
        Ok(both)
    }

    /// Whose keys these are.
    pub(super) fn party(&self) -> Party {
        self.bundles[0].party() // every computation has a gate
    }

    /// Elements that the keys are for.
    pub(super) fn count(&self) -> usize {
        self.bundles[0].count()
    }

    /// Bytes of keys.
    pub(super) fn key_bytes(&self) -> usize {
        self.bundles.iter().map(KeyBundle::byte_len).sum()
    }

    /// A digest of the folder's files except the identity.
    ///
    /// The fingerprint of its certificate represents the identity.
    pub(super) fn digest(&self) -> Result<String, InferenceError> {
        folder_digest(&self.path, self.bundles.len())
    }

    /// This party's side of a connection to the other.
    pub(super) fn endpoint(&self, limits: Limits) -> Endpoint<'_> {
        let (party, protocol) = (self.party(), self.bundles[0].gate().digest());
        Endpoint { party, identity: &self.identity, peer: self.peer, protocol, limits }
    }

    /// Marks the folder as used, for good, removes the bundles, and returns them.
    ///
    /// Call it before anything that depends on the keys leaves this party. Whatever happens then,
    /// they cannot be used again; copies of the folder are not detected.
    pub(super) fn consume(self) -> Result<(Computation, Vec<KeyBundle>), InferenceError> {
        if !make_marker(&self.path.join(USED))? {
            return Err(InferenceError::Used { path: self.path });
        }
        sync_folder(&self.path)?;
        for name in BUNDLES.into_iter().take(self.bundles.len()) {
            let path = self.path.join(name);
            fs::remove_file(&path).map_err(io("removing used keys", &path))?;
        }
        Ok((self.computation, self.bundles))
    }
}

/// Whether the keys of a party's folder were used.
pub(super) fn is_used(folder: &Path) -> bool {
    fs::symlink_metadata(folder.join(USED)).is_ok()
}

/// Reads the computation of the keys in a party's folder.
pub(super) fn read_gate(folder: &Path) -> Result<Computation, InferenceError> {
    let refused = |reason: String| refused(folder, format!("`{}`: {reason}", GateFile::NAME));
    let text = read_small(folder, GateFile::NAME, GateFile::MAX_BYTES)?;
    let file: GateFile = serde_json::from_slice(&text).map_err(|e| refused(e.to_string()))?;
    file.computation().map_err(|e| refused(format!("{e:#}")))
}

/// The fingerprint of the other party's certificate.
pub(super) fn read_peer(folder: &Path) -> Result<Fingerprint, InferenceError> {
    read_fingerprint(folder, PEER)
}

fn read_fingerprint(folder: &Path, name: &str) -> Result<Fingerprint, InferenceError> {
    let fingerprint = String::from_utf8_lossy(&read_small(folder, name, MAX_FINGERPRINT_BYTES)?).parse();
    fingerprint.map_err(|e: TlsError| refused(folder, format!("`{name}`: {e}")))
}

/// Reads the bundles of a party's folder, one for each gate.
///
/// All are of one party and for the same number of elements.
pub(super) fn read_bundles(folder: &Path, computation: &Computation) -> Result<Vec<KeyBundle>, InferenceError> {
    let mut bundles: Vec<KeyBundle> = Vec::new();
    for (gate, name) in computation.gates().into_iter().zip(BUNDLES) {
        let bundle = read_bundle(&folder.join(name)).map_err(missing(folder, name))?;
        if bundle.gate() != gate {
            let (expected, got) = (gate.kind(), bundle.gate().kind());
            let from = GateFile::NAME;
            let reason = format!("`{name}` is for another gate: expected {expected} as in `{from}`, got {got}");
            return Err(refused(folder, reason));
        }
        let facts = |bundle: &KeyBundle| (bundle.party(), bundle.count());
        if bundles.first().is_some_and(|first| facts(first) != facts(&bundle)) {
            return Err(refused(folder, format!("`{name}` differs in party or element count from `{}`", BUNDLES[0])));
        }
        bundles.push(bundle);
    }
    Ok(bundles)
}

/// Reads one bundle, whatever its gate.
pub(super) fn read_bundle(path: &Path) -> Result<KeyBundle, InferenceError> {
    let bytes = read_at_most(path, u64::MAX)?.unwrap_or_default();
    KeyBundle::from_bytes(&bytes).map_err(|error| refused(path, error.to_string()))
}

fn read_small(folder: &Path, name: &str, max: u64) -> Result<impl Deref<Target = Vec<u8>>, InferenceError> {
    let bytes = read_at_most(&folder.join(name), max).map_err(missing(folder, name))?;
    bytes.ok_or_else(|| refused(folder, format!("`{name}` is too long")))
}

fn refused(path: &Path, reason: String) -> InferenceError {
    InferenceError::Folder { path: path.to_owned(), reason }
}
