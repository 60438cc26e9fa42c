//! Keys and self-signed certificates, and how their fingerprints are read.

use core::{fmt, str::FromStr};

use rcgen::{CertificateParams, KeyPair};
use rustls::{
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer},
    sign::CertifiedKey,
};
use zeroize::Zeroizing;

use super::{Fingerprint, TlsError};

impl FromStr for Fingerprint {
    type Err = TlsError;

    fn from_str(text: &str) -> Result<Self, TlsError> {
        let refused =
            || TlsError::Identity { reason: format!("expected a fingerprint of 64 hex digits, got `{text}`") };
        let digits: Option<Vec<u8>> = text.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect();
        let digits = digits.filter(|digits| digits.len() == 64).ok_or_else(refused)?;
        Ok(Self(core::array::from_fn(|i| digits[2 * i] << 4 | digits[2 * i + 1])))
    }
}

/// A certificate and its secret key.
///
/// `Debug` shows the fingerprint only; this copy of the key is wiped when dropped.
pub struct Identity {
    certificate: Vec<u8>,
    key: Zeroizing<Vec<u8>>,
}

impl Identity {
    /// A fresh self-signed certificate with a P-256 key.
    ///
    /// # Errors
    /// [`TlsError::Identity`] if the system has no randomness.
    pub fn generate() -> Result<Self, TlsError> {
        let refused = |e: rcgen::Error| TlsError::Identity { reason: e.to_string() };
        let key = KeyPair::generate().map_err(refused)?;
        let params = CertificateParams::new(vec!["trefoil-party".to_owned()]).map_err(refused)?;
        let certificate = params.self_signed(&key).map_err(refused)?;
        Ok(Self { certificate: certificate.der().to_vec(), key: Zeroizing::new(key.serialize_der()) })
    }

    /// The identity of a certificate in DER and its key in PKCS #8 DER.
    ///
    /// [`certificate`](Self::certificate) and [`key`](Self::key) return them in this form.
    /// [`check`](Self::check) verifies that they belong together.
    #[must_use]
    pub fn from_der(certificate: Vec<u8>, key: Zeroizing<Vec<u8>>) -> Self {
        Self { certificate, key }
    }

    /// Checks that the key is valid, and belongs to the certificate.
    ///
    /// # Errors
    /// [`TlsError::Identity`] if they are not.
    pub fn check(&self) -> Result<(), TlsError> {
        let (chain, key) = self.parts();
        let checked = CertifiedKey::from_der(chain, key, &ring::default_provider());
        checked.map(drop).map_err(|e| TlsError::Identity { reason: e.to_string() })
    }

    /// The certificate in DER. Public.
    #[must_use]
    pub fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    /// The secret key in PKCS #8 DER.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// The fingerprint that the peer needs.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.certificate)
    }

    /// Copies for a TLS configuration.
    pub(super) fn parts(&self) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
        let key = PrivatePkcs8KeyDer::from(self.key.to_vec());
        (vec![CertificateDer::from(self.certificate.clone())], key.into())
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("fingerprint", &self.fingerprint()).finish_non_exhaustive()
    }
}
