//! The handshake of either side over any stream, for fuzz targets.

use core::{fmt, slice};
use std::{
    io::{Read, Write},
    time::Instant,
};

use rustls::{ClientConnection, StreamOwned, pki_types::ServerName};

use super::{
    Endpoint, TlsError, connect,
    endpoint::{Refusals, of_identity, server},
    pending::PendingConnection,
};
use crate::Limits;

/// The accepting side of a handshake, over a non-blocking stream.
///
/// The stream returns `WouldBlock` while nothing has arrived.
pub struct Acceptor<S> {
    pending: PendingConnection<S>,
    refusals: Refusals,
    limits: Limits,
}

impl<S: Read + Write> Acceptor<S> {
    /// A handshake before its first byte.
    ///
    /// # Errors
    /// [`TlsError::Identity`] if the endpoint's identity cannot be used.
    pub fn new(endpoint: &Endpoint<'_>, stream: S) -> Result<Self, TlsError> {
        let (config, refusals) = server(slice::from_ref(endpoint))?;
        Ok(Self { pending: PendingConnection::over(stream, config)?, refusals, limits: endpoint.limits })
    }

    /// Reads what has arrived and answers it.
    ///
    /// Returns whether the peer has proven its identity and sent a message.
    ///
    /// # Errors
    /// As [`Endpoint::accept`] reports a peer.
    pub fn step(&mut self) -> Result<bool, TlsError> {
        self.pending.step(Instant::now(), &self.limits).map_err(|error| self.refusals.explain(error))?;
        Ok(self.pending.is_ready())
    }
}

impl<S> fmt::Debug for Acceptor<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Acceptor(..)")
    }
}

/// Shakes hands as the side that connects.
///
/// # Errors
/// As one attempt of [`Endpoint::connect`].
pub fn connect<S: Read + Write>(
    endpoint: &Endpoint<'_>,
    stream: S,
) -> Result<StreamOwned<ClientConnection, S>, TlsError> {
    let (config, refusals) = endpoint.client()?;
    connect::shake_hands(config, &endpoint.peer, stream).map_err(|error| refusals.explain(error))
}

/// A client before its first byte, for a driver that changes its messages on the way.
///
/// # Errors
/// [`TlsError::Identity`] if the endpoint's identity cannot be used.
pub fn client(endpoint: &Endpoint<'_>) -> Result<ClientConnection, TlsError> {
    let name = ServerName::try_from("trefoil-party").unwrap_or_else(|_| unreachable!("a valid name"));
    ClientConnection::new(endpoint.client()?.0, name).map_err(of_identity)
}
