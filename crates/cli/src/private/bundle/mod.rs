//! Keys of single gates: a folder with the bundle of each party, used once.
//!
//! | file | content |
//! |---|---|
//! | `gate.json` | what the keys compute: public |
//! | `party0.pfk`, `party1.pfk` | each party's bundle, for that party alone |
//! | `used` | made before the first use |

mod descriptor;
mod eval;
mod gate_file;
mod generate;
mod inspect;
mod outputs;
mod values;

use std::{
    fs,
    path::{Path, PathBuf},
};

use inference::{
    InferenceError,
    folder::files::{io, make_marker, read_at_most, sync_folder},
};
use pfss::{KeyBundle, Operation, Party};

pub(super) use eval::{EvalArgs, run as eval};
use gate_file::GateFile;
pub(super) use generate::{GenArgs, run as generate};
pub(super) use inspect::run as inspect;

const USED: &str = "used";

/// Name of a party's bundle in its folder.
fn bundle_name(party: Party) -> String {
    format!("party{}.pfk", party.number())
}

/// Bundles of both parties, read and checked, and not used yet.
struct BundleFolder {
    path: PathBuf,
    operation: Operation,
    bundles: [KeyBundle; 2],
}

impl BundleFolder {
    /// Reads a folder, every file of it.
    fn open(path: &Path) -> Result<Self, InferenceError> {
        let refused = |reason: String| InferenceError::Folder { path: path.to_owned(), reason };
        if fs::symlink_metadata(path.join(USED)).is_ok() {
            return Err(InferenceError::Used { path: path.to_owned() });
        }
        let text = read_at_most(&path.join(GateFile::NAME), GateFile::MAX_BYTES)?;
        let text = text.ok_or_else(|| refused(format!("`{}` is too long", GateFile::NAME)))?;
        let said = |reason: String| refused(format!("`{}`: {reason}", GateFile::NAME));
        let file: GateFile = serde_json::from_slice(&text).map_err(|e| said(e.to_string()))?;
        let operation = file.operation().map_err(|e| said(e.to_string()))?;

        let [zero, one] = Party::BOTH.map(|party| -> Result<KeyBundle, InferenceError> {
            let name = bundle_name(party);
            let bundle = read_bundle(&path.join(&name))?;
            if bundle.party() != party {
                return Err(InferenceError::OtherParty { path: path.join(name), expected: party, got: bundle.party() });
            }
            if bundle.gate() != operation.gate() {
                let (expected, got) = (operation.gate().kind(), bundle.gate().kind());
                return Err(refused(format!(
                    "`{name}` is for another gate: expected {expected} as in `gate.json`, got {got}"
                )));
            }
            Ok(bundle)
        });
        let bundles = [zero?, one?];
        if bundles[0].nonce() != bundles[1].nonce() || bundles[0].count() != bundles[1].count() {
            return Err(refused("expected bundles of one deal, got those of two".into()));
        }
        Ok(Self { path: path.to_owned(), operation, bundles })
    }

    /// Marks the folder as used, for good, removes the bundles, and gives them. Whatever happens then, they cannot be
    /// used again, unless somebody made a copy before.
    fn consume(self) -> Result<(Operation, [KeyBundle; 2]), InferenceError> {
        if !make_marker(&self.path.join(USED))? {
            return Err(InferenceError::Used { path: self.path });
        }
        sync_folder(&self.path)?;
        for party in Party::BOTH {
            let path = self.path.join(bundle_name(party));
            fs::remove_file(&path).map_err(io("removing used keys", &path))?;
        }
        Ok((self.operation, self.bundles))
    }
}

/// Reads one bundle, whatever its gate.
fn read_bundle(path: &Path) -> Result<KeyBundle, InferenceError> {
    let bytes = read_at_most(path, u64::MAX)?.unwrap_or_default();
    KeyBundle::from_bytes(&bytes)
        .map_err(|error| InferenceError::Folder { path: path.to_owned(), reason: error.to_string() })
}
