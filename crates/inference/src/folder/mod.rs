//! Folders of keys: written whole or not at all, and used once.
//!
//! The folder of a party for a single run:
//!
//! | file | content |
//! |---|---|
//! | `manifest.json` | [`Manifest`]: whose keys these are, for what, and the digest of each file of keys |
//! | `model.json` | the [`ModelFile`](crate::ModelFile), if the model has one |
//! | `000.key`, `001.key`, .. | the keys, in the order of their use |
//! | `identity.der`, `identity.key` | this party's certificate and its secret key, for this deal alone |
//! | `used` | made before the first use |
//!
//! A deal for many runs has several such folders for each party: `weights` with the keys that open
//! the weights and the certificate, and `run-001`, `run-002`, .. with the keys of a run each. The
//! first run opens the weights and keeps them in `weights/opened` until the last run is spent.
//!
//! | in the folder of a party | content |
//! |---|---|
//! | `weights` | manifest, model file, keys of the weights, certificate, and `opened` once they are opened |
//! | `lock` | an empty file, locked by the process that uses the folder |
//! | `run-001`, `run-002`, .. | manifest, model file, triples of the products by weights, all other keys of a run |
//!
//! A model that is a Rust function is not in the folder. The manifest has its [`FunctionFacts`],
//! and each party opens its folder for the function, by [`KeyFolder::open_for`] or
//! [`RunsFolder::open_for`].
//!
//! Only the owner may read a folder. It holds everything that protects its party's secrets, and has
//! to reach only that party, by a route that keeps it secret and intact: digests are computed
//! without a key and nothing is signed, so they show damage but not deliberate changes, unless
//! [`KeyFolder::digest`] reaches the party by a different route.

mod agreement;
mod begun;
mod checked;
pub mod files;
mod key_files;
mod lock;
mod manifest;
mod model;
mod opened;
mod party_folder;
mod read;
mod runs;
mod scratch;
mod write;

pub use agreement::AGREEMENT;
pub use begun::BegunRun;
pub use manifest::{DealPart, FunctionFacts, Manifest, hex};
pub use read::KeyFolder;
pub use runs::{RunsFolder, RunsState};
pub use scratch::{Stale, remove_stale, remove_unfinished, whole_folder};
pub use write::{deal, deal_runs};
