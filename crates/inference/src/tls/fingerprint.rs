//! The digest that identifies the other party's certificate.

use core::fmt;

use sha2::{Digest as _, Sha256};

/// The SHA-256 of a certificate in DER.
///
/// It is printed as by `openssl x509 -fingerprint -sha256`, without colons and in lowercase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(pub [u8; 32]);

impl Fingerprint {
    pub(super) fn of(certificate: &[u8]) -> Self {
        Self(Sha256::digest(certificate).into())
    }

    /// The name that a client sends in its first message, for a server with several certificates.
    ///
    /// It is the first half of the fingerprint that the client expects. It is not encrypted, and it
    /// proves nothing: the certificate itself is compared later.
    pub(super) fn server_name(&self) -> String {
        let half: String = self.0[..16].iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{half}.trefoil-party")
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
