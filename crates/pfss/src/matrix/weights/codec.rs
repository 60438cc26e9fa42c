//! Keys, masks, triples and opened words of weights to bytes and back.

use core_types::Ring;
use zeroize::Zeroizing;

use super::{OpenedWeights, WeightKey, WeightMask, WeightShape, WeightTriple};
use crate::{
    BundleError, Party,
    bundle::expect,
    matrix::{
        record::{Facts, Format, Record},
        shares::SeededShares,
    },
    secret::seed::Seed,
};

const KEY: Format = Format { magic: *b"PFW1", version: 1, name: b"pfss weight key v1" };
const MASK: Format = Format { magic: *b"PFD1", version: 1, name: b"pfss weight mask v1" };
const TRIPLE: Format = Format { magic: *b"PFT1", version: 1, name: b"pfss weight triple v1" };
const OPENED: Format = Format { magic: *b"PFO1", version: 1, name: b"pfss opened weights v1" };
/// Bytes of the nonce of a key, with which a triple begins.
const NONCE_BYTES: usize = 16;

impl WeightKey {
    /// The bytes of the key, 120 for every shape: a header of 88 bytes and a seed.
    ///
    /// They are secret, and wiped when dropped.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        KEY.write(facts(self.party, (self.ring, self.shape), 0, self.nonce), &[self.seed.bytes()], &[])
    }

    /// Reads a key; total.
    ///
    /// A key has the same length for every shape: compare [`shape`](Self::shape) and
    /// [`ring`](Self::ring) with the expected ones before it is used.
    ///
    /// # Errors
    /// The [`BundleError`] of the first check that fails.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, BundleError> {
        let record = KEY.read(bytes, |_, _| (Seed::BYTES, 0))?;
        let shape = unused_rows(&record)?;
        let Facts { party, ring, nonce, .. } = record.facts;
        Ok(Self { party, ring, shape, nonce, seed: record.seed(0), reusable: false })
    }
}

impl WeightMask {
    /// The bytes of the mask, 152 for every shape: a header of 88 bytes and both parties' seeds.
    ///
    /// They are secret, and wiped when dropped. Whoever has them can open the weights.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let seeds = self.seeds.each_ref().map(|seed| &seed.bytes()[..]);
        MASK.write(facts(Party::Zero, (self.ring, self.shape), 0, self.nonce), &seeds, &[])
    }

    /// Reads a mask; total.
    ///
    /// # Errors
    /// The [`BundleError`] of the first check that fails.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, BundleError> {
        let record = MASK.read(bytes, |_, _| (2 * Seed::BYTES, 0))?;
        let shape = unused_rows(&record)?;
        // A mask is of both parties.
        expect("party", 0, record.facts.party.number().into())?;
        let seeds = [record.seed(0), record.seed(Seed::BYTES)];
        Ok(Self { ring: record.facts.ring, shape, nonce: record.facts.nonce, seeds })
    }
}

impl WeightTriple {
    /// The bytes of the triple, little-endian.
    ///
    /// They are a header of 88 bytes, the nonce of the key of the weights, a seed, and for party 1
    /// the share of `A B`: 8 bytes for each element of the product. They are secret, and wiped when
    /// dropped.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let facts = facts(self.party, (self.ring, self.weights), self.rows, self.nonce);
        TRIPLE.write(facts, &[&self.key_nonce, self.shares.seed.bytes()], &[self.shares.words()])
    }

    /// Reads a triple: total, and never more than `bytes.len()` is allocated.
    ///
    /// Party 0's triple has the same length for every shape: compare [`rows`](Self::rows),
    /// [`weights`](Self::weights) and [`ring`](Self::ring) with the expected ones before it is
    /// used.
    ///
    /// # Errors
    /// The [`BundleError`] of the first check that fails.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, BundleError> {
        let body = |party: Party, [_, _, out]: [usize; 3]| {
            (NONCE_BYTES + Seed::BYTES, if party == Party::One { out } else { 0 })
        };
        let record = TRIPLE.read(bytes, body)?;
        let Facts { party, ring, shape, nonce } = record.facts;
        expect("batch", 1, shape.batch as u64)?;
        let product = (party == Party::One).then(|| record.words(0, shape.lens()[2])).transpose()?;
        Ok(Self {
            party,
            ring,
            rows: shape.rows,
            weights: WeightShape { inner: shape.inner, cols: shape.cols },
            nonce,
            key_nonce: record.first_nonce(),
            shares: SeededShares { seed: record.seed(NONCE_BYTES), product },
            reusable: false,
        })
    }
}

impl OpenedWeights {
    /// The bytes of the opened weights, little-endian, for a later process.
    ///
    /// They are a header of 88 bytes, the seed of this party's share of the mask, and 8 bytes for
    /// each opened word. They are secret, and wiped when dropped. Copies are for products by the
    /// same weights: whoever opened other weights under the same mask would reveal the difference.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        OPENED.write(facts(self.party, (self.ring, self.shape), 0, self.nonce), &[self.seed.bytes()], &[&self.words])
    }

    /// Reads opened weights: total, and never more than `bytes.len()` is allocated.
    ///
    /// The bytes have the key's share of the mask, but they give no key: nothing opens weights with
    /// them.
    ///
    /// # Errors
    /// The [`BundleError`] of the first check that fails.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, BundleError> {
        let record = OPENED.read(bytes, |_, [_, right, _]| (Seed::BYTES, right))?;
        let shape = unused_rows(&record)?;
        let Facts { party, ring, nonce, .. } = record.facts;
        Ok(Self::new(party, (ring, shape), nonce, record.seed(0), record.words(0, shape.elements())?))
    }
}

fn facts(party: Party, (ring, weights): (Ring, WeightShape), rows: usize, nonce: [u8; 16]) -> Facts {
    Facts { party, ring, shape: weights.product(rows), nonce }
}

/// The weights of a record that is for no product: one batch without rows.
fn unused_rows(record: &Record<'_>) -> Result<WeightShape, BundleError> {
    let shape = record.facts.shape;
    expect("batch", 1, shape.batch as u64)?;
    expect("rows", 0, shape.rows as u64)?;
    Ok(WeightShape { inner: shape.inner, cols: shape.cols })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Dealer, MatrixShape,
        matrix::{RING, shares::Words},
    };

    const SHAPE: WeightShape = WeightShape { inner: 3, cols: 2 };

    /// Checks that bytes are read and written, and refused with any cut, tail or flipped bit.
    fn check<T>(
        bytes: &[u8],
        len: usize,
        read: impl Fn(&[u8]) -> Result<T, BundleError>,
        write: impl Fn(&T) -> Zeroizing<Vec<u8>>,
    ) {
        assert_eq!(bytes.len(), len);
        assert_eq!(write(&read(bytes).unwrap())[..], *bytes);
        for len in 0..bytes.len() {
            assert!(read(&bytes[..len]).is_err(), "{len}");
        }
        assert!(read(&[bytes, &[0]].concat()).is_err());
        for bit in 0..8 * bytes.len() {
            let mut changed = bytes.to_vec();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(read(&changed).is_err(), "{bit}");
        }
    }

    #[test]
    fn secrets_of_weights_round_trip_and_every_cut_and_flipped_bit_is_refused() {
        let mut dealer = Dealer::insecure_from_seed(6);
        for bits in [64, 43] {
            let ring = Ring::new(bits).unwrap();
            let (keys, mask) = dealer.deal_weights(ring, SHAPE).unwrap();
            let triples = dealer.deal_weight_triple(&runtime::cpu().unwrap(), &mask, 4).unwrap();
            check(&mask.to_bytes(), 152, WeightMask::from_bytes, WeightMask::to_bytes);
            for (party, (key, triple)) in keys.into_iter().zip(triples).enumerate() {
                assert_eq!([key.ring(), triple.ring(), mask.ring()], [ring; 3]);
                check(&key.to_bytes(), 120, WeightKey::from_bytes, WeightKey::to_bytes);
                check(&triple.to_bytes(), 136 + party * 64, WeightTriple::from_bytes, WeightTriple::to_bytes);
                let words = Words::new((1..=6).map(|word: u64| word << 40).collect());
                let opened = OpenedWeights::new(key.party, (ring, key.shape), key.nonce, key.seed, words);
                check(&opened.to_bytes(), 168, OpenedWeights::from_bytes, OpenedWeights::to_bytes);
            }
        }
    }

    #[test]
    fn fields_that_a_record_does_not_use_have_one_value() {
        let with = |batch, rows, party| Facts {
            party,
            ring: RING,
            shape: MatrixShape { batch, rows, inner: 3, cols: 2 },
            nonce: [7; 16],
        };
        let field = |field, expected, got| BundleError::Field { field, expected, got };
        let seed = &[1; Seed::BYTES][..];
        let key = |facts| WeightKey::from_bytes(&KEY.write(facts, &[seed], &[])).map(|key| key.shape());
        assert_eq!(key(with(1, 0, Party::One)), Ok(SHAPE));
        assert_eq!(key(with(2, 0, Party::One)), Err(field("batch", 1, 2)));
        assert_eq!(key(with(1, 1, Party::One)), Err(field("rows", 0, 1)));
        let mask = |facts| WeightMask::from_bytes(&MASK.write(facts, &[seed, seed], &[])).map(|mask| mask.shape());
        assert_eq!(mask(with(1, 0, Party::Zero)), Ok(SHAPE));
        assert_eq!(mask(with(1, 0, Party::One)), Err(field("party", 0, 1)));
        assert_eq!(mask(with(1, 3, Party::Zero)), Err(field("rows", 0, 3)));
        let triple = |facts| {
            let bytes = TRIPLE.write(facts, &[&[2; NONCE_BYTES], seed], &[]);
            WeightTriple::from_bytes(&bytes).map(|triple| (triple.rows(), triple.weights(), triple.key_nonce()))
        };
        assert_eq!(triple(with(1, 5, Party::Zero)), Ok((5, SHAPE, [2; 16])));
        assert_eq!(triple(with(0, 5, Party::Zero)), Err(field("batch", 1, 0)));
        let opened = |facts, words: &[u64]| {
            let bytes = OPENED.write(facts, &[seed], &[words]);
            OpenedWeights::from_bytes(&bytes).map(|opened| opened.shape())
        };
        assert_eq!(opened(with(1, 0, Party::Zero), &[3; 6]), Ok(SHAPE));
        assert_eq!(opened(with(2, 0, Party::Zero), &[3; 12]), Err(field("batch", 1, 2)));
        assert!(matches!(opened(with(1, 0, Party::Zero), &[3; 5]), Err(BundleError::Length { .. })));
        // Words outside the ring.
        let narrow = Facts { ring: Ring::new(2).unwrap(), ..with(1, 0, Party::Zero) };
        assert_eq!(opened(narrow, &[3; 6]), Ok(SHAPE));
        let outside = BundleError::Share { bits: 2, row: 0, index: 5 };
        assert_eq!(opened(narrow, &[3, 3, 3, 3, 3, 4]), Err(outside));
        // Lengths that no address space holds.
        let mut huge = with(1, 0, Party::One);
        huge.shape.inner = usize::MAX;
        assert!(matches!(key(huge), Err(BundleError::Overflow { .. })));
    }

    #[test]
    fn opened_words_nonces_and_shapes_have_different_digests() {
        let opened = |bits, shape, nonce, words: [u64; 6]| {
            let (ring, seed) = (Ring::new(bits).unwrap(), Seed::default());
            OpenedWeights::new(Party::Zero, (ring, shape), [nonce; 16], seed, Words::new(words.to_vec())).digest()
        };
        let all = [
            opened(64, SHAPE, 1, [1, 2, 3, 4, 5, 6]),
            opened(63, SHAPE, 1, [1, 2, 3, 4, 5, 6]),
            opened(64, SHAPE, 2, [1, 2, 3, 4, 5, 6]),
            opened(64, WeightShape { inner: 2, cols: 3 }, 1, [1, 2, 3, 4, 5, 6]),
            opened(64, SHAPE, 1, [1, 2, 3, 4, 5, 7]),
        ];
        for (at, digest) in all.iter().enumerate() {
            assert!(!all[..at].contains(digest), "{at}");
        }
    }
}
