//! The unit of dealing: keys of a gate for a number of elements, or a matrix triple.

use backend_api::ops::fss::FssOps;
use pfss::{Dealer, Gate, KeyBundle, MatrixShape, MatrixTriple, Party, PfssError};
use sha2::{Digest as _, Sha256};

/// Keys to be made for one batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deal {
    /// Keys of a gate for a number of elements.
    Gate(Gate, usize),
    /// A triple for products of matrices.
    Matrix(MatrixShape),
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
    /// Makes the keys, for party 0 and party 1.
    ///
    /// # Errors
    /// As [`Dealer::deal`] and [`Dealer::deal_matrix`].
    pub fn make<Q: FssOps>(&self, q: &Q, dealer: &mut Dealer) -> Result<[Key; 2], PfssError> {
        Ok(match self {
            Self::Gate(gate, count) => dealer.deal(q, gate, *count)?.map(Key::Gate),
            Self::Matrix(shape) => dealer.deal_matrix(*shape)?.map(Key::Matrix),
        })
    }

    /// Bytes that each party sends, step digests included, and rounds.
    #[must_use]
    pub fn traffic(&self) -> (u64, u64) {
        match self {
            Self::Gate(gate, count) => gate.traffic(*count),
            Self::Matrix(shape) => shape.traffic(),
        }
    }

    /// Whether `key` is what this deal makes.
    #[must_use]
    pub fn makes(&self, key: &Key) -> bool {
        match (self, key) {
            (Self::Gate(gate, count), Key::Gate(bundle)) => bundle.gate() == gate && bundle.count() == *count,
            (Self::Matrix(shape), Key::Matrix(triple)) => triple.shape() == *shape,
            _ => false,
        }
    }

    /// Adds the kind and its numbers to a digest.
    pub(crate) fn hash(&self, hasher: &mut Sha256) {
        match self {
            Self::Gate(gate, count) => {
                hasher.update(b"gate");
                hasher.update(gate.digest());
                hasher.update((*count as u64).to_le_bytes());
            }
            Self::Matrix(MatrixShape { batch, rows, inner, cols }) => {
                hasher.update(b"matrix");
                [batch, rows, inner, cols].iter().for_each(|len| hasher.update((**len as u64).to_le_bytes()));
            }
        }
    }
}

impl Key {
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
