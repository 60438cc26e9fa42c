//! Matrix triples to bytes and back.

use zeroize::Zeroizing;

use super::{MatrixShape, MatrixTriple};
use crate::{
    BundleError, Party,
    bundle::{array, check_start},
};

const MAGIC: [u8; 4] = *b"PFM1";
const VERSION: u16 = 1;
/// Magic, version, party, a zero byte, four lengths, nonce.
const DIGEST_AT: usize = 4 + 2 + 1 + 1 + 4 * 8 + 16;
/// The content digest ends the header.
const HEADER_BYTES: usize = DIGEST_AT + 32;

impl MatrixTriple {
    /// The bytes of the triple, little-endian.
    ///
    /// They are a header of 88 bytes, then the shares of `A`, `B` and `A B`. They are secret, and
    /// wiped when dropped.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let words = self.a.len() + self.b.len() + self.c.len();
        let mut out = Vec::with_capacity(HEADER_BYTES + 8 * words);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&[self.party.number(), 0]);
        let MatrixShape { batch, rows, inner, cols } = self.shape;
        [batch, rows, inner, cols].iter().for_each(|&len| out.extend_from_slice(&(len as u64).to_le_bytes()));
        out.extend_from_slice(&self.nonce);
        out.extend_from_slice(&[0; 32]);
        for words in [&self.a, &self.b, &self.c] {
            words.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
        }
        let digest = content_digest(&out);
        out[DIGEST_AT..HEADER_BYTES].copy_from_slice(&digest);
        Zeroizing::new(out)
    }

    /// Reads a triple: total, and never more than `bytes.len()` is allocated.
    ///
    /// # Errors
    /// The [`BundleError`] of the first check that fails.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, BundleError> {
        let Some((header, body)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
            return Err(BundleError::Truncated { expected: HEADER_BYTES, got: bytes.len() });
        };
        // The fixed fields of the header.
        check_start(header, MAGIC, VERSION)?;
        let party = Party::try_from(header[6]).map_err(|e| BundleError::Party { got: e.got })?;
        if header[7] != 0 {
            return Err(BundleError::Field { field: "flags", expected: 0, got: header[7].into() });
        }
        // The shape, whose lengths have to match before anything is allocated.
        let len = |index: usize| {
            let count = u64::from_le_bytes(array(header, 8 + 8 * index));
            usize::try_from(count).map_err(|_| BundleError::Overflow { count })
        };
        let shape = MatrixShape { batch: len(0)?, rows: len(1)?, inner: len(2)?, cols: len(3)? };
        let [left, right, out] = shape.checked_lens()?;
        let expected = HEADER_BYTES.saturating_add(8 * (left + right + out)); // fits, as checked
        if expected != bytes.len() {
            return Err(BundleError::Length { expected, got: bytes.len() });
        }
        // The digest of header and body.
        let (expected, got) = (content_digest(bytes), array(header, DIGEST_AT));
        if expected != got {
            return Err(BundleError::Digest { what: "content", expected, got });
        }
        // The body.
        let words = |from: usize, len: usize| -> Zeroizing<Vec<u64>> {
            let body = &body[8 * from..8 * (from + len)];
            Zeroizing::new(body.as_chunks::<8>().0.iter().map(|&word| u64::from_le_bytes(word)).collect())
        };
        let (a, b, c) = (words(0, left), words(left, right), words(left + right, out));
        Ok(Self { party, shape, nonce: array(header, 8 + 4 * 8), a, b, c, reusable: false })
    }
}

fn content_digest(bytes: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"pfss matrix triple v1");
    hasher.update(&bytes[..DIGEST_AT]);
    hasher.update(&bytes[HEADER_BYTES..]);
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dealer;

    fn sample() -> Vec<u8> {
        let shape = MatrixShape { batch: 2, rows: 1, inner: 3, cols: 2 };
        let [_, one] = Dealer::insecure_from_seed(5).deal_matrix(shape).unwrap();
        one.to_bytes().to_vec()
    }

    #[test]
    fn triples_round_trip_and_every_cut_and_flipped_bit_is_refused() {
        let bytes = sample();
        let triple = MatrixTriple::from_bytes(&bytes).unwrap();
        assert_eq!((triple.party(), triple.to_bytes().to_vec()), (Party::One, bytes.clone()));
        for len in 0..bytes.len() {
            assert!(MatrixTriple::from_bytes(&bytes[..len]).is_err(), "{len}");
        }
        for bit in 0..8 * bytes.len() {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(MatrixTriple::from_bytes(&changed).is_err(), "{bit}");
        }
    }

    #[test]
    fn hostile_lengths_are_refused_before_anything_is_allocated_for_them() {
        for lens in [[u64::MAX; 4], [1 << 32, 1 << 32, 1, 1], [1 << 61, 1, 1, 1], [0, u64::MAX, u64::MAX, 1]] {
            let mut changed = sample();
            for (index, len) in lens.into_iter().enumerate() {
                changed[8 + 8 * index..][..8].copy_from_slice(&len.to_le_bytes());
            }
            let error = MatrixTriple::from_bytes(&changed);
            assert!(matches!(error, Err(BundleError::Overflow { .. } | BundleError::Length { .. })), "{error:?}");
        }
    }
}
