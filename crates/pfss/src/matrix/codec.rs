//! Matrix triples to bytes and back.

use zeroize::Zeroizing;

use super::{
    MatrixTriple, TripleShares,
    record::{Facts, Format},
    shares::SeededShares,
};
use crate::{BundleError, Party, secret::seed::Seed};

/// All shares as words, which dealers no longer write.
const WORDS: Format = Format { magic: *b"PFM1", version: 1, name: b"pfss matrix triple v1" };
/// A seed, and party 1's share of `A B`.
const SEEDED: Format = Format { magic: *b"PFM1", version: 2, name: b"pfss matrix triple v2" };

impl MatrixTriple {
    /// The bytes of the triple, little-endian.
    ///
    /// They are a header of 88 bytes and a seed of 32, and for party 1 the share of `A B`: 8 bytes
    /// for each element of the product. A triple read from version 1, which has all shares in place
    /// of the seed, is written as version 1. The bytes are secret, and wiped when dropped.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let facts = Facts { party: self.party, ring: self.ring, shape: self.shape, nonce: self.nonce };
        match &self.shares {
            TripleShares::Words([a, b, product]) => WORDS.write(facts, &[], &[a, b, product]),
            TripleShares::Seeded(shares) => SEEDED.write(facts, &[shares.seed.bytes()], &[shares.words()]),
        }
    }

    /// Reads a triple: total, and never more than `bytes.len()` is allocated.
    ///
    /// Party 0's triple has the same length for every shape, and using it allocates the
    /// matrices of that shape: compare [`shape`](Self::shape) and [`ring`](Self::ring) with the
    /// expected ones first.
    ///
    /// # Errors
    /// The [`BundleError`] of the first check that fails.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, BundleError> {
        let (facts, shares) = if bytes.get(4..6) == Some(&WORDS.version.to_le_bytes()[..]) {
            let record = WORDS.read(bytes, |_, [left, right, out]| (0, left + right + out))?;
            let [left, right, out] = record.facts.shape.lens();
            let (a, b) = (record.words(0, left)?, record.words(left, right)?);
            (record.facts, TripleShares::Words([a, b, record.words(left + right, out)?]))
        } else {
            let body = |party: Party, [_, _, out]: [usize; 3]| (Seed::BYTES, if party == Party::One { out } else { 0 });
            let record = SEEDED.read(bytes, body)?;
            let Facts { party, shape, .. } = record.facts;
            let product = (party == Party::One).then(|| record.words(0, shape.lens()[2])).transpose()?;
            (record.facts, TripleShares::Seeded(SeededShares { seed: record.seed(0), product }))
        };
        let Facts { party, ring, shape, nonce } = facts;
        Ok(Self { party, ring, shape, nonce, shares, reusable: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Dealer, MatrixShape, Ring,
        matrix::{
            record::{DIGEST_AT, HEADER_BYTES},
            shares::Words,
        },
    };

    const SHAPE: MatrixShape = MatrixShape { batch: 2, rows: 1, inner: 3, cols: 2 };

    /// Both parties' triples of 64 bits in version 2, and the same in version 1.
    fn samples() -> [Vec<u8>; 4] {
        samples_in(64)
    }

    /// The shares of `A`, `B` and `A B` in the bytes of a triple.
    fn shares_of(bytes: &[u8]) -> [Words; 3] {
        let triple = MatrixTriple::from_bytes(bytes).unwrap();
        let ([_, _, out], ring) = (triple.shape.lens(), triple.ring);
        let ([a, b], product) = triple.into_masks();
        [a, b, product.into_words(ring, out)]
    }

    fn samples_in(bits: u32) -> [Vec<u8>; 4] {
        let ring = Ring::new(bits).unwrap();
        let q = runtime::cpu().unwrap();
        let [zero, one] = Dealer::insecure_from_seed(5).deal_matrix(&q, ring, SHAPE).unwrap();
        let seeded = [&zero, &one].map(|triple| triple.to_bytes().to_vec());
        let [zero_words, one_words] = [zero, one].map(|mut triple| {
            let words = shares_of(&triple.to_bytes());
            triple.shares = TripleShares::Words(words);
            triple.to_bytes().to_vec()
        });
        let [zero, one] = seeded;
        [zero, one, zero_words, one_words]
    }

    #[test]
    fn triples_round_trip_and_every_cut_and_flipped_bit_is_refused() {
        for (index, bytes) in samples().into_iter().chain(samples_in(43)).enumerate() {
            let triple = MatrixTriple::from_bytes(&bytes).unwrap();
            let party = [Party::Zero, Party::One][index % 2];
            assert_eq!((triple.party(), triple.to_bytes().to_vec()), (party, bytes.clone()));
            for len in 0..bytes.len() {
                assert!(MatrixTriple::from_bytes(&bytes[..len]).is_err(), "{index}: {len}");
            }
            for bit in 0..8 * bytes.len() {
                let mut changed = bytes.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                assert!(MatrixTriple::from_bytes(&changed).is_err(), "{index}: {bit}");
            }
        }
    }

    #[test]
    fn seeds_take_the_place_of_uniform_shares() {
        let [left, right, out] = SHAPE.lens();
        let words = HEADER_BYTES + 8 * (left + right + out);
        let expected = [HEADER_BYTES + 32, HEADER_BYTES + 32 + 8 * out, words, words];
        for bits in [1, 43, 63, 64] {
            let ring = Ring::new(bits).unwrap();
            assert_eq!(samples_in(bits).map(|bytes| bytes.len()), expected);
            let [zero, one, zero_words, one_words] = samples_in(bits).map(|bytes| shares_of(&bytes));
            assert_eq!([&zero, &one], [&zero_words, &one_words]);
            let [a, b, product] = [0, 1, 2].map(|matrix| -> Vec<u64> {
                zero[matrix].iter().zip(one[matrix].iter()).map(|(x, y)| ring.add(*x, *y)).collect()
            });
            let expected: Vec<u64> = SHAPE.multiply(&a, &b).into_iter().map(|word| ring.reduce(word)).collect();
            assert_eq!(product, expected);
        }
    }

    #[test]
    fn hostile_lengths_are_refused_before_anything_is_allocated_for_them() {
        for bytes in samples() {
            for lens in [[u64::MAX; 4], [1 << 32, 1 << 32, 1, 1], [1 << 61, 1, 1, 1], [0, u64::MAX, u64::MAX, 1]] {
                let mut changed = bytes.clone();
                for (index, len) in lens.into_iter().enumerate() {
                    changed[8 + 8 * index..][..8].copy_from_slice(&len.to_le_bytes());
                }
                let error = MatrixTriple::from_bytes(&changed).unwrap_err();
                // Party 0's seed is as long for every shape that an address space holds.
                let fits = bytes.len() == HEADER_BYTES + 32 && lens[0] == 0;
                let expected = match error {
                    BundleError::Overflow { .. } | BundleError::Length { .. } => !fits,
                    BundleError::Digest { .. } => fits,
                    _ => false,
                };
                assert!(expected, "{lens:?}: {error:?}");
            }
        }
    }

    #[test]
    fn other_versions_rings_and_words_are_named() {
        let bytes = samples()[0].clone();
        let with = |at: usize, value: u8| {
            let mut changed = bytes.clone();
            changed[at] = value;
            MatrixTriple::from_bytes(&changed).unwrap_err()
        };
        assert_eq!(with(0, b'Q'), BundleError::Magic { expected: *b"PFM1", got: *b"QFM1" });
        assert_eq!(with(4, 3), BundleError::Version { expected: 2, got: 3 });
        assert_eq!(with(6, 2), BundleError::Party { got: 2 });
        for ring in [64, 65, u8::MAX] {
            assert_eq!(with(7, ring), BundleError::Field { field: "ring", expected: 0, got: ring.into() });
        }
        assert!(matches!(with(7, 43), BundleError::Digest { what: "content", .. }));
        // Party 1's product of a triple whose ring has become too narrow for it, with a digest that fits.
        let facts = |ring| Facts { party: Party::One, ring, shape: SHAPE, nonce: [7; 16] };
        let written =
            |words: [u64; 4], bits| SEEDED.write(facts(Ring::new(bits).unwrap()), &[&[1; Seed::BYTES]], &[&words]);
        assert!(MatrixTriple::from_bytes(&written([0, 0, (1 << 43) - 1, 1], 43)).is_ok());
        let refused = MatrixTriple::from_bytes(&written([0, 0, 1 << 43, 1], 43)).unwrap_err();
        assert_eq!(refused, BundleError::Share { bits: 43, row: 0, index: 2 });
        assert!(matches!(with(DIGEST_AT, bytes[DIGEST_AT] ^ 1), BundleError::Digest { what: "content", .. }));
    }
}
