//! A connection whose peer has not proven itself yet.

use core::time::Duration;
use std::{
    io::{self, ErrorKind, Read, Write},
    net::TcpStream,
    sync::Arc,
    time::Instant,
};

use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::{Fingerprint, TlsError, TlsStream, endpoint::of_identity, stream::Bounded};
use crate::Limits;

/// Longest time from a connection to the end of its TLS handshake.
pub(super) const HANDSHAKE: Duration = Duration::from_secs(10);
/// Longest time from a connection to the end of its ClientHello.
const HELLO: Duration = Duration::from_secs(2);

/// A connection whose peer has not proven itself yet. Nothing here waits.
pub(super) struct PendingConnection<S = TcpStream> {
    tls: ServerConnection,
    stream: S,
    start: Instant,
    greeted: bool,
    ready: bool,
}

impl PendingConnection<TcpStream> {
    /// A pending connection over an accepted TCP stream, set to non-blocking.
    ///
    /// # Errors
    /// [`TlsError::Lost`] if the connection is gone already, [`TlsError::Identity`] if `config`
    /// cannot be used.
    pub(super) fn new(stream: TcpStream, config: Arc<ServerConfig>) -> Result<Self, TlsError> {
        stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true)).map_err(lost)?;
        Self::over(stream, config)
    }

    /// The stream to a peer that is ready.
    ///
    /// # Errors
    /// [`TlsError::Lost`] if the system refuses.
    pub(super) fn into_stream(self, limits: &Limits) -> Result<TlsStream, TlsError> {
        let stream = Bounded::in_session(self.stream, limits).map_err(lost)?;
        Ok(TlsStream::new(StreamOwned::new(self.tls, stream)))
    }
}

impl<S: Read + Write> PendingConnection<S> {
    /// A connection over a stream that never waits.
    ///
    /// # Errors
    /// [`TlsError::Identity`] if `config` cannot be used.
    pub(super) fn over(stream: S, config: Arc<ServerConfig>) -> Result<Self, TlsError> {
        let tls = ServerConnection::new(config).map_err(of_identity)?;
        Ok(Self { tls, stream, start: Instant::now(), greeted: false, ready: false })
    }

    /// Whether the peer has sent a whole ClientHello, to which it got an answer.
    pub(super) fn is_greeted(&self) -> bool {
        self.greeted
    }

    /// Whether the peer has proven itself and begun to speak the protocol inside.
    pub(super) fn is_ready(&self) -> bool {
        self.ready
    }

    /// Whether the peer has proven to hold an accepted certificate.
    pub(super) fn is_proven(&self) -> bool {
        !self.tls.is_handshaking()
    }

    /// The certificate of a peer that is ready.
    pub(super) fn peer(&self) -> Option<Fingerprint> {
        self.tls.peer_certificates()?.first().map(|certificate| Fingerprint::of(certificate))
    }

    /// Reads the peer's messages and answers them.
    ///
    /// # Errors
    /// [`TlsError::Handshake`] if the peer is refused, [`TlsError::Lost`] if it is gone or its time
    /// is over.
    pub(super) fn step(&mut self, now: Instant, limits: &Limits) -> Result<(), TlsError> {
        self.read()?;
        self.greeted |= self.tls.wants_write();
        self.write().map_err(lost)?;
        let age = now.saturating_duration_since(self.start);
        let late = |what, limit: Duration| lost(format!("{what} within {} s", limit.as_secs_f32()));
        match (HELLO.min(limits.idle), HANDSHAKE.min(limits.session)) {
            (hello, _) if !self.greeted && age > hello => Err(late("no ClientHello", hello)),
            (_, whole) if !self.ready && age > whole => Err(late("not complete", whole)),
            _ => Ok(()),
        }
    }

    fn read(&mut self) -> Result<(), TlsError> {
        match self.tls.read_tls(&mut self.stream) {
            Ok(0) => Err(lost("the peer closed the connection")),
            Ok(_) => match self.tls.process_new_packets() {
                Ok(state) => {
                    self.ready = !self.tls.is_handshaking() && state.plaintext_bytes_to_read() > 0;
                    Ok(())
                }
                Err(refusal) => {
                    let _ = self.write(); // tells the peer why, if it still listens
                    Err(TlsError::Handshake { doing: DOING, reason: refusal.to_string() })
                }
            },
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(()),
            Err(e) => Err(lost(e)),
        }
    }

    fn write(&mut self) -> io::Result<()> {
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut self.stream) {
                Ok(_) => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

const DOING: &str = "TLS handshake";

pub(super) fn lost(reason: impl ToString) -> TlsError {
    TlsError::Lost { doing: DOING, reason: reason.to_string() }
}
