//! The unit of dealing: keys of a gate for a number of elements, or a matrix triple.

use core::ops::RangeInclusive;

use backend_api::ops::fss::FssOps;
use pfss::{Dealer, Gate, GateKind, KeyBundle, MatrixShape, MatrixTriple, Party, PfssError, Ring};
use sha2::{Digest as _, Sha256};

/// Bytes of the step digest in each message.
pub(crate) const STEP_DIGEST: u64 = 16;
/// Bytes of a seed.
pub(crate) const SEED: u64 = 32;
/// Elements of a word of bits. Bundles are padded to whole words.
const LANES: usize = 32;
/// Most bytes of a bundle besides keys and descriptor.
///
/// They are its header, and for each of at most nine sections its entry and the gap before it.
const BUNDLE_OVERHEAD: u64 = 128 + 9 * (48 + 255);
/// The header of a matrix triple.
pub(crate) const TRIPLE_OVERHEAD: u64 = 88;

/// Keys to be made for one batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deal {
    /// Keys of a gate for a number of elements.
    Gate(Gate, usize),
    /// Keys of a gate that sends in the messages of the gate before it.
    ///
    /// It adds neither rounds nor step digests. The second look-up of a function by table is one.
    Alongside(Gate, usize),
    /// A triple for products of matrices in a ring.
    Matrix(Ring, MatrixShape),
}

/// One party's keys for one batch.
#[derive(Debug)]
pub enum Key {
    /// Keys of a gate.
    Gate(KeyBundle),
    /// A triple for products of matrices.
    Matrix(MatrixTriple),
}

impl Deal {
    /// The deals of gates that run in this order, each for its number of elements.
    ///
    /// The second of two look-ups in a row travels with the first: they are the constants and the
    /// slopes of a [`TableFn`](pfss::functions::TableFn), and no step has other look-ups.
    pub(crate) fn in_order(gates: impl IntoIterator<Item = (Gate, usize)>) -> Vec<Self> {
        let mut follows_lookup = false;
        let deal = |(gate, count): (Gate, usize)| {
            let is_second = gate.kind() == GateKind::Lut && follows_lookup;
            follows_lookup = gate.kind() == GateKind::Lut;
            if is_second { Self::Alongside(gate, count) } else { Self::Gate(gate, count) }
        };
        gates.into_iter().map(deal).collect()
    }

    /// Makes the keys, for party 0 and party 1.
    ///
    /// # Errors
    /// As [`Dealer::deal`] and [`Dealer::deal_matrix`].
    pub fn make<Q: FssOps>(&self, q: &Q, dealer: &mut Dealer) -> Result<[Key; 2], PfssError> {
        Ok(match self {
            Self::Gate(gate, count) | Self::Alongside(gate, count) => dealer.deal(q, gate, *count)?.map(Key::Gate),
            Self::Matrix(ring, shape) => dealer.deal_matrix(q, *ring, *shape)?.map(Key::Matrix),
        })
    }

    /// Bytes that each party sends, step digests included, and rounds.
    #[must_use]
    pub fn traffic(&self) -> (u64, u64) {
        match self {
            Self::Gate(gate, count) => gate.traffic(*count),
            Self::Alongside(gate, count) => {
                let (bytes, rounds) = gate.traffic(*count);
                (bytes - STEP_DIGEST * rounds, 0)
            }
            Self::Matrix(ring, shape) => shape.traffic(*ring),
        }
    }

    /// Bytes that `party`'s keys take in memory until they are used.
    ///
    /// They are the keys for elements padded to words of bits. The seed of a bundle is counted, and
    /// so are the keys that it replaces in a file; the seed of a triple is expanded by its use.
    #[must_use]
    pub fn memory_bytes(&self, party: Party) -> u64 {
        match self {
            Self::Gate(gate, count) | Self::Alongside(gate, count) => {
                let all = gate.key_bits_per_element();
                let seed = if gate.key_bits_of(party) < all { SEED } else { 0 };
                seed + count.next_multiple_of(LANES) as u64 / 8 * all
            }
            Self::Matrix(_, shape) => shape.key_bytes(party),
        }
    }

    /// Bytes of the sections of `party`'s file that hold keys, and of the seed.
    pub(crate) fn key_bytes(&self, party: Party) -> u64 {
        match self {
            Self::Gate(gate, count) | Self::Alongside(gate, count) => gate.key_bytes(party, *count),
            Self::Matrix(_, shape) => shape.key_bytes(party),
        }
    }

    /// The fewest and the most bytes of `party`'s file of keys.
    ///
    /// The fewest are [`key_bytes`](Self::key_bytes); headers, the descriptor and gaps are added
    /// for the most.
    pub(crate) fn file_bytes(&self, party: Party) -> RangeInclusive<u64> {
        let overhead = match self {
            Self::Gate(gate, _) | Self::Alongside(gate, _) => {
                BUNDLE_OVERHEAD + gate.program().map_or(0, |program| program.to_bytes().len() as u64)
            }
            Self::Matrix(..) => TRIPLE_OVERHEAD,
        };
        let keys = self.key_bytes(party);
        keys..=keys.saturating_add(overhead)
    }

    /// Whether its keys are used together with those before it.
    pub(crate) fn is_alongside(&self) -> bool {
        matches!(self, Self::Alongside(..))
    }

    /// Whether `key` is what this deal makes.
    #[must_use]
    pub fn makes(&self, key: &Key) -> bool {
        match (self, key) {
            (Self::Gate(gate, count) | Self::Alongside(gate, count), Key::Gate(bundle)) => {
                bundle.gate() == gate && bundle.count() == *count
            }
            (Self::Matrix(ring, shape), Key::Matrix(triple)) => (triple.ring(), triple.shape()) == (*ring, *shape),
            _ => false,
        }
    }

    /// Adds the kind and its numbers to a digest.
    pub(crate) fn hash(&self, hasher: &mut Sha256) {
        match self {
            Self::Gate(gate, count) | Self::Alongside(gate, count) => {
                hasher.update(if self.is_alongside() { "gate alongside" } else { "gate" });
                hasher.update(gate.digest());
                hasher.update((*count as u64).to_le_bytes());
            }
            Self::Matrix(ring, MatrixShape { batch, rows, inner, cols }) => {
                hasher.update(b"matrix");
                hasher.update(ring.bits().to_le_bytes());
                [batch, rows, inner, cols].iter().for_each(|len| hasher.update((**len as u64).to_le_bytes()));
            }
        }
    }
}

impl Key {
    /// Bytes of the key in memory.
    pub(crate) fn memory_bytes(&self) -> u64 {
        match self {
            Self::Gate(bundle) => bundle.memory_bytes(),
            Self::Matrix(triple) => triple.shape().key_bytes(triple.party()),
        }
    }

    /// The party whose key this is.
    #[must_use]
    pub fn party(&self) -> Party {
        match self {
            Self::Gate(bundle) => bundle.party(),
            Self::Matrix(triple) => triple.party(),
        }
    }

    /// The nonce of the deal.
    #[must_use]
    pub fn nonce(&self) -> [u8; 16] {
        match self {
            Self::Gate(bundle) => bundle.nonce(),
            Self::Matrix(triple) => triple.nonce(),
        }
    }
}

#[cfg(test)]
mod tests {
    use pfss::{
        SignedRange,
        functions::TableFn,
        softmax::{RowLayout, SecureSoftmaxPlan},
        suf::SufModes,
    };

    use super::*;

    fn total(deals: &[Deal]) -> (u64, u64) {
        deals.iter().map(Deal::traffic).fold((0, 0), |sum, each| (sum.0 + each.0, sum.1 + each.1))
    }

    #[test]
    fn deals_of_tables_send_what_their_gates_send_together() {
        // rows of bits that fill no whole byte
        let gates = TableFn::gelu(12).unwrap().gates().unwrap();
        let deals = Deal::in_order(gates.gates().map(|gate| (gate.clone(), 37)));
        assert_eq!(total(&deals), gates.traffic(37));
        let places: Vec<usize> = (0..6).filter(|&at| matches!(deals[at], Deal::Alongside(..))).collect();
        assert_eq!(places, [3]);
        let layout = RowLayout::ragged(7, &[7, 3, 5]).unwrap();
        let logits = SignedRange::new(-(1 << 17), 1 << 17).unwrap();
        for new in [SecureSoftmaxPlan::new, SecureSoftmaxPlan::by_table] {
            let plan = new(layout.clone(), logits, SufModes::default()).unwrap();
            assert_eq!(total(&Deal::in_order(plan.deals())), plan.traffic());
        }
    }

    #[test]
    fn digest_differs_for_a_gate_that_travels_alongside() {
        let gate = Gate::lut(8, 64).unwrap();
        let digest = |deal: Deal| {
            let mut hasher = Sha256::new();
            deal.hash(&mut hasher);
            hasher.finalize()
        };
        assert_ne!(digest(Deal::Gate(gate.clone(), 5)), digest(Deal::Alongside(gate, 5)));
        let shape = MatrixShape { batch: 1, rows: 2, inner: 3, cols: 4 };
        let matrix = |bits| Deal::Matrix(Ring::new(bits).unwrap(), shape);
        assert_ne!(digest(matrix(43)), digest(matrix(64)));
    }

    #[test]
    fn triples_of_another_ring_are_not_those_of_the_deal() {
        let (q, shape) = (runtime::cpu().unwrap(), MatrixShape { batch: 1, rows: 2, inner: 3, cols: 4 });
        let deal = |bits| Deal::Matrix(Ring::new(bits).unwrap(), shape);
        let keys = deal(43).make(&q, &mut Dealer::insecure_from_seed(1)).unwrap();
        assert!(keys.iter().all(|key| deal(43).makes(key) && !deal(64).makes(key)));
        assert_eq!(deal(43).traffic(), (u64::div_ceil(43 * (6 + 12), 8) + 16, 1));
    }
}
