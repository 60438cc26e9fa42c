use core::{fmt, ops::DerefMut};
use std::{
    io::{self, ErrorKind, Read, Write},
    net::{TcpListener, TcpStream, ToSocketAddrs},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use pfss::{Party, StreamChannel};
use rustls::{
    ClientConfig, ClientConnection, ConnectionCommon, ServerConfig, ServerConnection, SideData, StreamOwned,
    crypto::{CryptoProvider, ring},
    pki_types::ServerName,
};

use super::{Fingerprint, Identity, TlsError, stream::Bounded, verify::Pinned};
use crate::Limits;

/// Both parties' messages are far shorter; a longer announcement is refused before anything is allocated.
const MAX_MESSAGE_BYTES: usize = 1 << 30;
/// Time between two looks for a peer.
const POLL: Duration = Duration::from_millis(20);

/// An encrypted stream to the peer whose certificate was expected.
pub struct TlsStream(Box<dyn Duplex>);

/// A [`StreamChannel`] over TLS 1.3 with pinned certificates on both sides.
pub type TlsChannel = StreamChannel<TlsStream>;

trait Duplex: Read + Write + Send {}
impl<T: Read + Write + Send> Duplex for T {}

/// One side's part in a connection.
#[derive(Debug)]
pub struct Endpoint<'a> {
    /// This party.
    pub party: Party,
    /// What this party proves to be.
    pub identity: &'a Identity,
    /// The only certificate accepted.
    pub peer: Fingerprint,
    /// Digest of what both sides agreed to compute.
    pub protocol: [u8; 32],
    /// How long to wait.
    pub limits: Limits,
}

impl Endpoint<'_> {
    /// Connects to a party that listens, trying again until the idle limit while nobody answers there.
    ///
    /// # Errors
    /// [`TlsError::NoPeer`] if nobody answers, [`TlsError::WrongCertificate`], [`TlsError::Handshake`] or
    /// [`TlsError::Channel`] if the peer is not the one expected, or does not want this one, [`TlsError::Identity`] or
    /// [`TlsError::Local`] if the fault is on this side.
    pub fn connect(&self, address: impl ToSocketAddrs) -> Result<TlsChannel, TlsError> {
        let end = Instant::now() + self.limits.idle;
        let failed = |e: io::Error| TlsError::Local { doing: "looking up the address", reason: e.to_string() };
        let addresses: Vec<_> = address.to_socket_addrs().map_err(failed)?.collect();
        loop {
            let mut last = "no address".to_owned();
            for (address, rest) in addresses.iter().zip((1..=addresses.len() as u32).rev()) {
                let left = end.saturating_duration_since(Instant::now()) / rest;
                match TcpStream::connect_timeout(address, left.max(POLL)) {
                    Ok(stream) => return self.over(stream, Side::Connects),
                    Err(e) => last = e.to_string(),
                }
            }
            if Instant::now() >= end {
                return Err(TlsError::NoPeer { seconds: self.limits.idle.as_secs(), last });
            }
            thread::sleep(POLL);
        }
    }

    /// Waits for the peer. Whoever is not the peer is refused within 10 seconds, one after the other, reported to
    /// `refused`, and the wait goes on; nobody is listened to any more once `patience` is over, if there is one.
    ///
    /// # Errors
    /// [`TlsError::NoPeer`] if the peer does not come in time, [`TlsError::Identity`] or [`TlsError::Local`] if the fault
    /// is on this side.
    pub fn accept(
        &self,
        listener: &TcpListener,
        patience: Option<Duration>,
        mut refused: impl FnMut(&TlsError),
    ) -> Result<TlsChannel, TlsError> {
        let failed = |e: io::Error| TlsError::Local { doing: "accepting", reason: e.to_string() };
        listener.set_nonblocking(true).map_err(failed)?;
        let (start, mut last) = (Instant::now(), String::new());
        loop {
            match listener.accept() {
                Ok((stream, _)) => match self.over(stream, Side::Listens) {
                    Ok(channel) => return Ok(channel),
                    Err(error @ TlsError::Identity { .. }) => return Err(error),
                    Err(error) => {
                        refused(&error);
                        last = error.to_string();
                    }
                },
                Err(e) if e.kind() == ErrorKind::WouldBlock => thread::sleep(POLL),
                Err(e) => return Err(failed(e)),
            }
            if let Some(patience) = patience.filter(|patience| start.elapsed() > *patience) {
                return Err(TlsError::NoPeer { seconds: patience.as_secs(), last });
            }
        }
    }

    /// Both handshakes on an open connection.
    fn over(&self, stream: TcpStream, side: Side) -> Result<TlsChannel, TlsError> {
        let refused = Arc::new(Mutex::new(None));
        let stream = self.handshake(stream, side, &refused).map_err(|error| {
            match *refused.lock().unwrap_or_else(PoisonError::into_inner) {
                Some(got) => TlsError::WrongCertificate { expected: self.peer, got },
                None => error,
            }
        })?;
        Ok(StreamChannel::over(self.party, stream, &self.protocol, MAX_MESSAGE_BYTES)?)
    }

    fn handshake(
        &self,
        stream: TcpStream,
        side: Side,
        refused: &Arc<Mutex<Option<Fingerprint>>>,
    ) -> Result<TlsStream, TlsError> {
        let setup = |e: rustls::Error| TlsError::Identity { reason: e.to_string() };
        let local = |doing, reason: String| TlsError::Local { doing, reason };
        let provider = Arc::new(ring::default_provider());
        let algorithms = provider.signature_verification_algorithms;
        let pinned = Arc::new(Pinned { expected: self.peer, algorithms, refused: Arc::clone(refused) });
        let stream = Bounded::new(stream, &self.limits).map_err(|e| local("configuring the socket", e.to_string()))?;
        match side {
            Side::Connects => {
                let config = self.client(provider, pinned).map_err(setup)?;
                let name =
                    ServerName::try_from("trefoil-party").map_err(|e| local("configuring TLS", e.to_string()))?;
                finish(ClientConnection::new(Arc::new(config), name).map_err(setup)?, stream)
            }
            Side::Listens => {
                let config = self.server(provider, pinned).map_err(setup)?;
                finish(ServerConnection::new(Arc::new(config)).map_err(setup)?, stream)
            }
        }
    }

    fn client(&self, provider: Arc<CryptoProvider>, pinned: Arc<Pinned>) -> Result<ClientConfig, rustls::Error> {
        let (chain, key) = self.identity.parts();
        ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .dangerous() // the pinned certificate takes the place of an authority
            .with_custom_certificate_verifier(pinned)
            .with_client_auth_cert(chain, key)
    }

    fn server(&self, provider: Arc<CryptoProvider>, pinned: Arc<Pinned>) -> Result<ServerConfig, rustls::Error> {
        let (chain, key) = self.identity.parts();
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_client_cert_verifier(pinned)
            .with_single_cert(chain, key)?;
        config.send_tls13_tickets = 0; // no resumption: every session proves its certificates
        Ok(config)
    }
}

/// Which side of the connection this party is.
#[derive(Clone, Copy)]
enum Side {
    Connects,
    Listens,
}

/// Completes the TLS handshake.
fn finish<C, S>(mut connection: C, mut stream: Bounded) -> Result<TlsStream, TlsError>
where
    C: DerefMut<Target = ConnectionCommon<S>> + Send + 'static,
    S: SideData + 'static,
{
    while connection.is_handshaking() {
        if let Err(e) = connection.complete_io(&mut stream) {
            // Tell the peer why, if it still listens; the first failure is the one to report.
            while connection.wants_write() && connection.write_tls(&mut stream).is_ok_and(|written| written > 0) {}
            return Err(TlsError::Handshake { doing: "TLS handshake", reason: e.to_string() });
        }
    }
    stream.begin_session();
    Ok(TlsStream(Box::new(StreamOwned::new(connection, stream))))
}

impl Read for TlsStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for TlsStream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.0.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl fmt::Debug for TlsStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TlsStream(..)")
    }
}
