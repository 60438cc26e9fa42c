//! Blake2s-256 and its digests.
//!
//! <https://www.rfc-editor.org/rfc/rfc7693>, without a key.

use core::fmt;

use blake2::{Blake2s256, Digest as _};
use core_types::field::M31;
use serde::{Deserialize, Serialize};

/// A Blake2s-256 digest.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// The digest of the concatenation of `parts`.
    pub(crate) fn of(parts: &[&[u8]]) -> Self {
        let mut hasher = Hasher::new();
        parts.iter().for_each(|part| hasher.bytes(part));
        hasher.finish()
    }

    /// The root of a tree without columns.
    pub(crate) fn of_nothing() -> Self {
        Self::of(&[])
    }

    /// The eight words of the digest, each with its lowest byte first.
    pub(crate) fn words(&self) -> [u32; 8] {
        let mut words = [0; 8];
        for (word, bytes) in words.iter_mut().zip(self.0.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        words
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A digest in the making.
pub(crate) struct Hasher(Blake2s256);

impl Hasher {
    pub(crate) fn new() -> Self {
        Self(Blake2s256::new())
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn element(&mut self, element: M31) {
        self.bytes(&element.word().to_le_bytes());
    }

    pub(crate) fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}
