//! The certificates of a listening side, by the name that a client's first message has.

use std::sync::Arc;

use rustls::{
    crypto::CryptoProvider,
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};

use super::{Identity, TlsError};

/// Certificates with the names that select them.
#[derive(Debug)]
pub(super) struct Certificates(Vec<(String, Arc<CertifiedKey>)>);

impl Certificates {
    /// The certificates of `identities`.
    ///
    /// # Errors
    /// [`TlsError::Identity`] if an identity cannot be used.
    pub(super) fn of<'a>(
        identities: impl IntoIterator<Item = &'a Identity>,
        provider: &CryptoProvider,
    ) -> Result<Self, TlsError> {
        let certified = |identity: &Identity| -> Result<(String, Arc<CertifiedKey>), TlsError> {
            let (chain, key) = identity.parts();
            let key = CertifiedKey::from_der(chain, key, provider);
            let key = key.map_err(|e| TlsError::Identity { reason: e.to_string() })?;
            Ok((identity.fingerprint().server_name(), Arc::new(key)))
        };
        identities.into_iter().map(certified).collect::<Result<_, _>>().map(Self)
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let found = match (&self.0[..], hello.server_name()) {
            ([only], _) => Some(only),
            (several, Some(name)) => several.iter().find(|(own, _)| own == name),
            (_, None) => None,
        };
        found.map(|(_, key)| Arc::clone(key))
    }
}
