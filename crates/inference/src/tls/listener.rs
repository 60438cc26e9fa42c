//! One listening socket for the peers of several endpoints, one after another.

use core::{fmt, time::Duration};
use std::net::TcpListener;

use pfss::Party;

use super::{
    Connection, Endpoint, Fingerprint, TlsChannel, TlsError, TlsStream,
    accept::{accept_in, local},
    crowd::Crowd,
    endpoint::channel,
    pending::PendingConnection,
};
use crate::Limits;

/// A listening socket that accepts the peers of one endpoint or several.
///
/// Handshakes that have begun when a peer is accepted continue in the next call, so that several
/// peers may connect at once.
pub struct PeerListener {
    listener: TcpListener,
    crowd: Crowd,
    sides: Vec<Side>,
    limits: Limits,
}

/// The parameters of connections to the peer of one endpoint.
#[derive(Clone, Copy)]
struct Side {
    party: Party,
    peer: Fingerprint,
    protocol: [u8; 32],
}

/// A peer that has proven to hold its certificate.
pub struct AcceptedPeer {
    index: usize,
    side: Side,
    connection: Connection,
    stream: TlsStream,
}

impl PeerListener {
    /// A listener for the peers of `endpoints`.
    ///
    /// The connection to each peer has the first endpoint's limits. Of endpoints with the same peer
    /// the first is taken.
    ///
    /// # Errors
    /// [`TlsError::Identity`] if an endpoint's identity cannot be used, [`TlsError::Local`] without
    /// an endpoint, or if the socket cannot be configured.
    pub fn new(listener: TcpListener, endpoints: &[Endpoint<'_>]) -> Result<Self, TlsError> {
        if endpoints.is_empty() {
            let reason = "expected at least one endpoint, got none".to_owned();
            return Err(TlsError::Local { doing: "listening", reason });
        }
        listener.set_nonblocking(true).map_err(|e| local(&e))?;
        let limits = endpoints.first().map_or_else(Limits::default, |endpoint| endpoint.limits);
        let side = |&Endpoint { party, peer, protocol, .. }: &Endpoint<'_>| Side { party, peer, protocol };
        let sides = endpoints.iter().map(side).collect();
        Ok(Self { listener, crowd: Crowd::of(endpoints, limits)?, sides, limits })
    }

    /// Waits for the next peer of any endpoint.
    ///
    /// Strangers are refused as by [`Endpoint::accept`], and the wait ends in the same way. `ended`
    /// is called at least every 20 milliseconds; the result is `None` if it returns true before a
    /// peer comes.
    ///
    /// # Errors
    /// As [`Endpoint::accept`].
    pub fn accept(
        &mut self,
        patience: Option<Duration>,
        refused: impl FnMut(&TlsError),
        ended: impl FnMut() -> bool,
    ) -> Result<Option<AcceptedPeer>, TlsError> {
        let Self { listener, crowd, sides, limits } = self;
        let take = |pending: PendingConnection| -> Result<AcceptedPeer, TlsError> {
            let peer = pending.peer();
            let index = sides.iter().position(|side| Some(side.peer) == peer);
            let unknown = || TlsError::Handshake { doing: "TLS handshake", reason: "no certificate of a peer".into() };
            let index = index.ok_or_else(unknown)?;
            let (side, connection) = (sides[index], Connection::begin(sides[index].peer, *limits));
            Ok(AcceptedPeer { index, side, connection, stream: pending.into_stream(limits)? })
        };
        accept_in(crowd, || Ok(listener.accept()?.0), patience, refused, take, ended)
    }

    /// Drops unfinished handshakes, which frees their file descriptors.
    ///
    /// A peer among them connects again. Peers whose handshake is complete keep their place.
    pub fn drop_handshakes(&mut self) {
        self.crowd.drop_unproven();
    }
}

impl AcceptedPeer {
    /// The index of its endpoint in the list of [`PeerListener::new`].
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// Its certificate.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        self.side.peer
    }

    /// Its connection, for errors.
    #[must_use]
    pub fn connection(&self) -> Connection {
        self.connection
    }

    /// Completes the handshake inside TLS: party, and digest of the computation.
    ///
    /// It waits for the peer, so a server of several peers calls it on a thread for each.
    ///
    /// # Errors
    /// [`TlsError::Channel`] if the peer is the same party, computes something else, or is lost.
    pub fn channel(self) -> Result<TlsChannel, TlsError> {
        channel(self.side.party, self.stream, &self.side.protocol)
    }
}

impl fmt::Debug for PeerListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeerListener").field("listener", &self.listener).finish_non_exhaustive()
    }
}

impl fmt::Debug for AcceptedPeer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AcceptedPeer").field("fingerprint", &self.side.peer).finish_non_exhaustive()
    }
}
