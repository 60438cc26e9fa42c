//! The client side: addresses are tried until the pinned server answers.

use core::time::Duration;
use std::{
    io::{self, ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream, ToSocketAddrs},
    sync::Arc,
    thread,
    time::Instant,
};

use rustls::{ClientConfig, ClientConnection, StreamOwned, pki_types::ServerName};

use super::{
    Endpoint, Fingerprint, TlsChannel, TlsError, TlsStream,
    endpoint::{Refusals, of_identity},
    pending::HANDSHAKE,
    stream::Bounded,
};

/// Shortest and longest time between two rounds of all addresses.
const PAUSES: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(500)];
/// Least time for one attempt, where the idle limit leaves less.
const ATTEMPT: Duration = Duration::from_secs(1);

impl Endpoint<'_> {
    /// Connects to a listening party.
    ///
    /// If there is no answer, or an answer breaks off or stalls for 10 seconds before the other
    /// side has proven itself, it tries the next address, and repeats all addresses until the idle
    /// limit.
    ///
    /// # Errors
    /// [`TlsError::NoPeer`] if no handshake completes in that time. [`TlsError::WrongCertificate`],
    /// [`TlsError::Handshake`] or [`TlsError::Channel`] if the peer is not the one expected, or
    /// does not want this one, and no other address is better. [`TlsError::Identity`] or
    /// [`TlsError::Local`] if the fault is on this side.
    pub fn connect(&self, address: impl ToSocketAddrs) -> Result<TlsChannel, TlsError> {
        let limits = &self.limits;
        let end = Instant::now() + limits.idle;
        let client = Client { endpoint: self, config: self.client()? };
        let unknown = |e: io::Error| TlsError::Local { doing: "looking up the address", reason: e.to_string() };
        let addresses: Vec<_> = address.to_socket_addrs().map_err(unknown)?.collect();
        let ([mut pause, longest], mut last) = (PAUSES, "no address".to_owned());
        loop {
            let mut refusal = None;
            for (&address, rest) in addresses.iter().zip((1..=addresses.len() as u32).rev()) {
                let share = end.saturating_duration_since(Instant::now()) / rest;
                match client.attempt(address, share.clamp(ATTEMPT, HANDSHAKE)) {
                    Err(error @ TlsError::Lost { .. }) => last = format!("the last attempt: {error}"),
                    Err(error) if error.is_of_peer() => refusal = Some(error),
                    done => return done,
                }
            }
            if let Some(refusal) = refusal {
                return Err(refusal);
            }
            if Instant::now() >= end {
                return Err(TlsError::NoPeer { seconds: limits.idle.as_secs(), last });
            }
            thread::sleep(pause);
            pause = (2 * pause).min(longest);
        }
    }
}

struct Client<'a> {
    endpoint: &'a Endpoint<'a>,
    config: (Arc<ClientConfig>, Refusals),
}

impl Client<'_> {
    /// Connects to one address and shakes hands; the other side has this much time for it.
    fn attempt(&self, address: SocketAddr, patience: Duration) -> Result<TlsChannel, TlsError> {
        let limits = &self.endpoint.limits;
        let end = Instant::now() + patience.min(limits.session);
        let lost = |doing| move |e: io::Error| TlsError::Lost { doing, reason: e.to_string() };
        let stream = TcpStream::connect_timeout(&address, patience).map_err(lost("connecting"))?;
        let stream = Bounded::until(end, stream, limits).map_err(lost("configuring the socket"))?;
        let (config, refusals) = &self.config;
        let stream = shake_hands(Arc::clone(config), &self.endpoint.peer, stream);
        let mut stream = stream.map_err(|error| refusals.explain(error))?;
        stream.sock.begin_session();
        self.endpoint.channel(TlsStream::new(stream))
    }
}

/// Shakes hands with the holder of the certificate `peer` over any stream.
///
/// # Errors
/// [`TlsError::Handshake`] if the peer is rejected or rejects this side, [`TlsError::Lost`] if the
/// stream ends or stands still.
pub(super) fn shake_hands<S: Read + Write>(
    config: Arc<ClientConfig>,
    peer: &Fingerprint,
    mut stream: S,
) -> Result<StreamOwned<ClientConnection, S>, TlsError> {
    let name = ServerName::try_from(peer.server_name())
        .map_err(|e| TlsError::Local { doing: "configuring TLS", reason: e.to_string() })?;
    let mut connection = ClientConnection::new(config, name).map_err(of_identity)?;
    let doing = "TLS handshake";
    while connection.is_handshaking() {
        if let Err(e) = connection.complete_io(&mut stream) {
            // Tell the peer why, if it still listens; the first failure is the one to report.
            while connection.wants_write() && connection.write_tls(&mut stream).is_ok_and(|written| written > 0) {}
            return Err(match e.kind() {
                ErrorKind::InvalidData => TlsError::Handshake { doing, reason: e.to_string() },
                ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                    TlsError::Lost { doing, reason: "the peer stopped responding".into() }
                }
                _ => TlsError::Lost { doing, reason: e.to_string() },
            });
        }
    }
    Ok(StreamOwned::new(connection, stream))
}
