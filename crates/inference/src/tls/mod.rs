//! A channel over TLS 1.3 between two parties that each know the other's one certificate.
//!
//! There is no authority: each side accepts exactly the certificate whose SHA-256 it was given, and
//! proves that it holds its certificate's key. A connection not authenticated in this way carries
//! no messages. A [`PeerListener`] has a certificate for each of its peers; the first message of a
//! peer names the one that it expects, by half of its SHA-256, in the clear.

mod accept;
mod certificates;
mod connect;
mod crowd;
mod endpoint;
mod error;
mod fingerprint;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod identity;
mod listener;
mod pending;
mod stream;
mod verify;

pub(crate) use endpoint::MAX_MESSAGE_BYTES;
pub use endpoint::{Endpoint, TlsChannel};
pub use error::TlsError;
pub use fingerprint::Fingerprint;
pub use identity::Identity;
pub use listener::{AcceptedPeer, PeerListener};
pub use stream::{Connection, TlsStream};
