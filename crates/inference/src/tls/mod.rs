//! A channel over TLS 1.3 between two parties that each know the other's one certificate.
//!
//! There is no authority and no name: each side accepts exactly the certificate whose SHA-256 it
//! was given, and proves that it holds its certificate's key. A connection not authenticated in
//! this way carries no messages.

mod accept;
mod connect;
mod crowd;
mod endpoint;
mod error;
mod fingerprint;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod identity;
mod pending;
mod stream;
mod verify;

pub use endpoint::{Endpoint, TlsChannel};
pub use error::TlsError;
pub use fingerprint::Fingerprint;
pub use identity::Identity;
pub use stream::TlsStream;
