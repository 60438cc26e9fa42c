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
        /// The fingerprint of the peer's certificate.
        got: Fingerprint,
    },
    /// The peer holds none of the certificates expected, of a server for several peers.
    #[error("peer certificate: expected one of {known} fingerprints, got {got}")]
    UnknownCertificate {
        /// The number of fingerprints that this side was given.
        known: usize,
        /// The fingerprint of the peer's certificate.
        got: Fingerprint,
    },
    /// The TLS handshake failed, also if the peer refuses this side's certificate.
    #[error("{doing}: {reason}")]
    Handshake {
        /// What was being done.
        doing: &'static str,
        /// The reason given by the connection.
        reason: String,
    },
    /// The connection was not made, broke off, or stalled.
    ///
    /// A stall is too long a wait before the peer has proven itself.
    #[error("{doing}: {reason}")]
    Lost {
        /// What was being done.
        doing: &'static str,
        /// The system's error, or the time limit that ran out.
        reason: String,
    },
    /// This side's system refused.
    #[error("{doing}: {reason}")]
    Local {
        /// What was being done.
        doing: &'static str,
        /// The system's error.
        reason: String,
    },
    /// No connection was made, or no peer connected, in time.
    #[error("no peer within {seconds} s{}{last}", if last.is_empty() { "" } else { "; " })]
    NoPeer {
        /// How long this side waited.
        seconds: u64,
        /// Why the last peer was refused or the last attempt failed; empty if no peer connected.
        last: String,
    },
    /// A key or certificate cannot be made or used.
    #[error("identity: {reason}")]
    Identity {
        /// The defect.
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
