//! A party's folder of keys: written whole or not at all, and used once.
//!
//! | file | content |
//! |---|---|
//! | `manifest.json` | [`Manifest`]: whose keys these are, for what, and the digest of each file of keys |
//! | `000.key`, `001.key`, .. | the keys, in the order of their use |
//! | `identity.der`, `identity.key` | this party's certificate and its secret key, for this deal alone |
//! | `used` | made before the first use |
//!
//! Only the owner may read a folder. It holds everything that protects its party's secrets, and has
//! to reach only that party, by a route that keeps it secret and intact: digests are computed
//! without a key and nothing is signed, so they show damage but not deliberate changes, unless
//! [`KeyFolder::digest`] reaches the party by a different route.

pub mod files;
mod manifest;
mod read;
mod scratch;
mod write;

pub use manifest::{Manifest, hex};
pub use read::KeyFolder;
pub use scratch::{Stale, remove_stale, remove_unfinished, whole_folder};
pub use write::deal;
