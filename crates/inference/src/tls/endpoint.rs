//! One side of a connection: who this party is, and the one certificate that it accepts.

use core::slice;
use std::sync::{Arc, Mutex, PoisonError};

use pfss::{Party, StreamChannel};
use rustls::{
    ClientConfig, ServerConfig,
    crypto::{CryptoProvider, ring},
};

use super::{Connection, Fingerprint, Identity, TlsError, TlsStream, certificates::Certificates, verify::Pinned};
use crate::Limits;

/// Greatest length of a message.
///
/// No run with longer messages is planned, and a longer announcement is rejected before anything is
/// allocated.
pub(crate) const MAX_MESSAGE_BYTES: usize = 1 << 30;

/// A [`StreamChannel`] over TLS 1.3 with pinned certificates on both sides.
pub type TlsChannel = StreamChannel<TlsStream>;

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
    /// A connection to the peer that begins now, for its errors.
    #[must_use]
    pub fn connection(&self) -> Connection {
        Connection::begin(self.peer, self.limits)
    }

    /// The handshake of the protocol inside.
    pub(super) fn channel(&self, stream: TlsStream) -> Result<TlsChannel, TlsError> {
        channel(self.party, stream, &self.protocol)
    }

    /// The TLS configuration of a connecting side.
    pub(super) fn client(&self) -> Result<(Arc<ClientConfig>, Refusals), TlsError> {
        let (provider, pinned, refusals) = pinned(slice::from_ref(self));
        let (chain, key) = self.identity.parts();
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .and_then(|config| {
                config
                    .dangerous() // the pinned certificate takes the place of an authority
                    .with_custom_certificate_verifier(pinned)
                    .with_client_auth_cert(chain, key)
            });
        Ok((Arc::new(config.map_err(of_identity)?), refusals))
    }
}

/// The handshake of the protocol inside, by `party` with this digest of the computation.
pub(super) fn channel(party: Party, stream: TlsStream, protocol: &[u8; 32]) -> Result<TlsChannel, TlsError> {
    Ok(StreamChannel::over(party, stream, protocol, MAX_MESSAGE_BYTES)?)
}

/// The TLS configuration of a side that listens for the peers of all `endpoints`.
///
/// The peer's first message names the certificate that it expects; a single endpoint answers to any
/// name.
pub(super) fn server(endpoints: &[Endpoint<'_>]) -> Result<(Arc<ServerConfig>, Refusals), TlsError> {
    let (provider, pinned, refusals) = pinned(endpoints);
    let certificates = Certificates::of(endpoints.iter().map(|endpoint| endpoint.identity), &provider)?;
    let config = ServerConfig::builder_with_provider(provider).with_protocol_versions(&[&rustls::version::TLS13]);
    let config = config.map_err(of_identity)?.with_client_cert_verifier(pinned);
    let mut config = config.with_cert_resolver(Arc::new(certificates));
    config.send_tls13_tickets = 0; // no resumption: every session proves its certificates
    Ok((Arc::new(config), refusals))
}

/// The check of the peer's certificate against those that `endpoints` accept.
fn pinned(endpoints: &[Endpoint<'_>]) -> (Arc<CryptoProvider>, Arc<Pinned>, Refusals) {
    let provider = Arc::new(ring::default_provider());
    let (algorithms, refused) = (provider.signature_verification_algorithms, Arc::new(Mutex::new(None)));
    let expected: Vec<_> = endpoints.iter().map(|endpoint| endpoint.peer).collect();
    let refusals = Refusals { expected: expected.clone(), refused: Arc::clone(&refused) };
    (provider, Arc::new(Pinned { expected, algorithms, refused }), refusals)
}

/// The certificate that was refused last, which the error of a handshake does not name.
pub(super) struct Refusals {
    expected: Vec<Fingerprint>,
    refused: Arc<Mutex<Option<Fingerprint>>>,
}

impl Refusals {
    /// What `error`, of the handshake that just failed, means.
    pub(super) fn explain(&self, error: TlsError) -> TlsError {
        match (self.refused.lock().unwrap_or_else(PoisonError::into_inner).take(), &self.expected[..]) {
            (Some(got), &[expected]) => TlsError::WrongCertificate { expected, got },
            (Some(got), several) => TlsError::UnknownCertificate { known: several.len(), got },
            (None, _) => error,
        }
    }
}

pub(super) fn of_identity(error: rustls::Error) -> TlsError {
    TlsError::Identity { reason: error.to_string() }
}
