//! The form of every secret of matrices as bytes: a header with a digest, bytes, then words.

use core_types::Ring;
use zeroize::Zeroizing;

use super::{MatrixShape, RING, shares::Words};
use crate::{
    BundleError, Party,
    bundle::{array, check_start},
    secret::seed::Seed,
};

/// Magic, version, party, ring, four lengths, nonce.
pub(super) const DIGEST_AT: usize = 4 + 2 + 1 + 1 + 4 * 8 + 16;
/// The content digest ends the header.
pub(super) const HEADER_BYTES: usize = DIGEST_AT + 32;

/// A kind of record and its version.
#[derive(Clone, Copy)]
pub(super) struct Format {
    pub(super) magic: [u8; 4],
    pub(super) version: u16,
    /// Begins the input of the digest.
    pub(super) name: &'static [u8],
}

/// The public facts of a record.
#[derive(Clone, Copy)]
pub(super) struct Facts {
    pub(super) party: Party,
    /// The ring of all words.
    pub(super) ring: Ring,
    pub(super) shape: MatrixShape,
    pub(super) nonce: [u8; 16],
}

/// A record whose lengths and digest are right.
pub(super) struct Record<'a> {
    pub(super) facts: Facts,
    bytes: &'a [u8],
    words: &'a [u8],
}

impl Format {
    /// The header, `bytes` and `words`, little-endian.
    ///
    /// The full capacity at once, since growing would leave copies of secrets behind.
    pub(super) fn write(self, facts: Facts, bytes: &[&[u8]], words: &[&[u64]]) -> Zeroizing<Vec<u8>> {
        let byte_len: usize = bytes.iter().map(|part| part.len()).sum();
        let word_len: usize = words.iter().map(|part| part.len()).sum();
        let mut out = Zeroizing::new(Vec::with_capacity(HEADER_BYTES + byte_len + 8 * word_len));
        out.extend_from_slice(&self.magic);
        out.extend_from_slice(&self.version.to_le_bytes());
        // 0 stands for 64 bits
        out.extend_from_slice(&[facts.party.number(), (facts.ring.bits() % RING.bits()) as u8]);
        let MatrixShape { batch, rows, inner, cols } = facts.shape;
        [batch, rows, inner, cols].iter().for_each(|&len| out.extend_from_slice(&(len as u64).to_le_bytes()));
        out.extend_from_slice(&facts.nonce);
        out.extend_from_slice(&[0; 32]);
        bytes.iter().for_each(|part| out.extend_from_slice(part));
        for word in words.iter().copied().flatten() {
            out.extend_from_slice(&word.to_le_bytes());
        }
        let digest = self.digest(&out);
        out[DIGEST_AT..HEADER_BYTES].copy_from_slice(&digest);
        out
    }

    /// Reads a record.
    ///
    /// `body` gives the number of bytes and of words from the party and the lengths of the shape.
    /// The words are at most the sum of the lengths. Nothing is allocated.
    pub(super) fn read(
        self,
        bytes: &[u8],
        body: impl FnOnce(Party, [usize; 3]) -> (usize, usize),
    ) -> Result<Record<'_>, BundleError> {
        let Some((header, rest)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
            return Err(BundleError::Truncated { expected: HEADER_BYTES, got: bytes.len() });
        };
        // The fixed fields of the header.
        check_start(header, self.magic, self.version)?;
        let party = Party::try_from(header[6]).map_err(|e| BundleError::Party { got: e.got })?;
        let ring = match header[7] {
            0 => Some(RING),
            bits => Ring::new(bits.into()).filter(|ring| *ring != RING),
        };
        let ring = ring.ok_or(BundleError::Field { field: "ring", expected: 0, got: header[7].into() })?;
        // The shape, whose lengths have to match.
        let len = |index: usize| {
            let count = u64::from_le_bytes(array(header, 8 + 8 * index));
            usize::try_from(count).map_err(|_| BundleError::Overflow { count })
        };
        let shape = MatrixShape { batch: len(0)?, rows: len(1)?, inner: len(2)?, cols: len(3)? };
        let (byte_len, word_len) = body(party, shape.checked_lens()?);
        let expected = HEADER_BYTES.saturating_add(byte_len).saturating_add(8 * word_len); // fits, as checked
        if expected != bytes.len() {
            return Err(BundleError::Length { expected, got: bytes.len() });
        }
        // The digest of header and body.
        let (expected, got) = (self.digest(bytes), array(header, DIGEST_AT));
        if expected != got {
            return Err(BundleError::Digest { what: "content", expected, got });
        }
        let (bytes, words) = rest.split_at(byte_len);
        Ok(Record { facts: Facts { party, ring, shape, nonce: array(header, 8 + 4 * 8) }, bytes, words })
    }

    fn digest(self, bytes: &[u8]) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.name);
        hasher.update(&bytes[..DIGEST_AT]);
        hasher.update(&bytes[HEADER_BYTES..]);
        *hasher.finalize().as_bytes()
    }
}

impl Record<'_> {
    /// The seed at `at` of the bytes, which hold it whole.
    pub(super) fn seed(&self, at: usize) -> Seed {
        Seed::read(&self.bytes[at..])
    }

    /// The nonce at the start of the bytes, which hold it whole.
    pub(super) fn first_nonce(&self) -> [u8; 16] {
        array(self.bytes, 0)
    }

    /// `len` words from word `from`, which have to be of the ring.
    pub(super) fn words(&self, from: usize, len: usize) -> Result<Words, BundleError> {
        let words = &self.words[8 * from..8 * (from + len)];
        let words = Words::new(words.as_chunks::<8>().0.iter().map(|&word| u64::from_le_bytes(word)).collect());
        let ring = self.facts.ring;
        match words.iter().position(|&word| word > ring.mask()) {
            Some(index) => Err(BundleError::Share { bits: ring.bits(), row: 0, index: from + index }),
            None => Ok(words),
        }
    }
}
