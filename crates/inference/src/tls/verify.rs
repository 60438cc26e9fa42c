//! Accepts certificates by their fingerprint alone.

use std::sync::{Arc, Mutex, PoisonError};

use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{WebPkiSupportedAlgorithms, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime},
    server::danger::{ClientCertVerified, ClientCertVerifier},
};

use super::Fingerprint;

/// Accepts one certificate, or on the listening side one of several.
///
/// That the peer holds its key is verified as TLS 1.3 does.
#[derive(Debug)]
pub(super) struct Pinned {
    pub(super) expected: Vec<Fingerprint>,
    pub(super) algorithms: WebPkiSupportedAlgorithms,
    /// The certificate that was refused, for the error message.
    pub(super) refused: Arc<Mutex<Option<Fingerprint>>>,
}

impl Pinned {
    fn check(&self, certificate: &CertificateDer<'_>) -> Result<(), Error> {
        let got = Fingerprint::of(certificate);
        if self.expected.contains(&got) {
            return Ok(());
        }
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(got);
        Err(CertificateError::ApplicationVerificationFailure.into())
    }
}

/// The methods that the traits of both sides have: signatures of TLS 1.3.
macro_rules! tls13_signatures {
    () => {
        /// TLS 1.2 is not built in; if asked about one of its signatures, this refuses it.
        fn verify_tls12_signature(
            &self,
            _: &[u8],
            _: &CertificateDer<'_>,
            _: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            Err(Error::General("expected TLS 1.3, got a signature of TLS 1.2".into()))
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signature: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            verify_tls13_signature(message, certificate, signature, &self.algorithms)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            self.algorithms.supported_schemes()
        }
    };
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(certificate).map(|()| ServerCertVerified::assertion())
    }

    tls13_signatures!();
}

impl ClientCertVerifier for Pinned {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(certificate).map(|()| ClientCertVerified::assertion())
    }

    tls13_signatures!();
}
