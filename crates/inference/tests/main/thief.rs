//! A peer with the right certificate and the key of another, which no careful library lets one configure.

use std::{
    net::{SocketAddr, TcpListener, TcpStream},
    sync::Arc,
};

use inference::tls::Identity;
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, ServerConfig, ServerConnection, SignatureScheme,
    client::{
        ResolvesClientCert,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
    version::TLS13,
};

/// A copied certificate, and a key that is not its own.
#[derive(Debug)]
pub(crate) struct Thief(Arc<CertifiedKey>);

impl Thief {
    pub(crate) fn new(certificate: &Identity, key: &Identity) -> Arc<Self> {
        let key = PrivatePkcs8KeyDer::from(key.key().to_vec());
        let key = provider().key_provider.load_private_key(key.into()).unwrap();
        let certificate = CertificateDer::from(certificate.certificate().to_vec());
        Arc::new(Self(Arc::new(CertifiedKey::new(vec![certificate], key))))
    }

    /// Waits for one connection, and ends when its handshake does.
    pub(crate) fn serve(self: Arc<Self>, listener: &TcpListener) {
        let config = ServerConfig::builder_with_provider(provider()).with_protocol_versions(&[&TLS13]).unwrap();
        let config = config.with_no_client_auth().with_cert_resolver(self);
        let (mut stream, _) = listener.accept().unwrap();
        let mut connection = ServerConnection::new(Arc::new(config)).unwrap();
        while connection.complete_io(&mut stream).is_ok_and(|(read, _)| read > 0) {}
    }

    /// Connects, and ends when the handshake does.
    pub(crate) fn connect(self: Arc<Self>, address: SocketAddr) {
        let mut stream = TcpStream::connect(address).unwrap();
        let mut connection = self.client();
        while connection.complete_io(&mut stream).is_ok_and(|(read, _)| read > 0) {}
    }

    /// The first message of a client.
    pub(crate) fn hello(self: Arc<Self>) -> Vec<u8> {
        let mut hello = Vec::new();
        self.client().write_tls(&mut hello).unwrap();
        hello
    }

    fn client(self: Arc<Self>) -> ClientConnection {
        let config = ClientConfig::builder_with_provider(provider()).with_protocol_versions(&[&TLS13]).unwrap();
        let config = config.dangerous().with_custom_certificate_verifier(Arc::new(Anyone));
        let config = config.with_client_cert_resolver(self);
        let name = ServerName::try_from("trefoil-party").unwrap();
        ClientConnection::new(Arc::new(config), name).unwrap()
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

impl ResolvesServerCert for Thief {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }
}

impl ResolvesClientCert for Thief {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }

    fn has_certs(&self) -> bool {
        true
    }
}

/// The thief accepts every server.
#[derive(Debug)]
struct Anyone;

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}
