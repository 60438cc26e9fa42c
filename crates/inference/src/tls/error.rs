//! Why there is no connection.

use pfss::ChannelError;
use thiserror::Error;

use super::Fingerprint;

/// Why there is no connection to the peer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TlsError {
    /// The peer holds another certificate than the one expected.
    #[error("peer certificate: expected fingerprint {expected}, got {got}")]
    WrongCertificate {
        /// The fingerprint that this side was given.
        expected: Fingerprint,
        /// That of the peer's certificate.
        got: Fingerprint,
    },
    /// The TLS handshake failed; a peer that refuses this side's certificate says so here.
    #[error("{doing}: {reason}")]
    Handshake {
        /// What was being done.
        doing: &'static str,
        /// What the connection said.
        reason: String,
    },
    /// The connection was not made, broke off, or stalled too long before the peer had proven itself.
    #[error("{doing}: {reason}")]
    Lost {
        /// What was being done.
        doing: &'static str,
        /// What the system said, or which time limit ran out.
        reason: String,
    },
    /// This side's system refused.
    #[error("{doing}: {reason}")]
    Local {
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        reason: String,
    },
    /// Nobody could be connected to, or nobody came, in time.
    #[error("no peer within {seconds} s{}{last}", if last.is_empty() { "" } else { "; " })]
    NoPeer {
        /// How long this side waited.
        seconds: u64,
        /// Why the last one that came was refused, or what the last attempt failed with; empty if nobody came.
        last: String,
    },
    /// A key or certificate cannot be made or used.
    #[error("identity: {reason}")]
    Identity {
        /// What is wrong with it.
        reason: String,
    },
    /// The handshake of the protocol inside failed.
    #[error(transparent)]
    Channel(#[from] ChannelError),
}

impl TlsError {
    /// Whether the other party is at fault, or absent.
    #[must_use]
    pub fn is_of_peer(&self) -> bool {
        !matches!(self, Self::Identity { .. } | Self::Local { .. })
    }
}
