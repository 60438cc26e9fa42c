//! Products of two secret matrices, using a dealer's triple for whole matrices.
//!
//! The product of `rows x inner` and `inner x cols` opens `rows inner + inner cols` masked words,
//! instead of two for each of its `rows inner cols` scalar products (Mohassel, Zhang, IEEE S&P
//! 2017).

mod codec;
mod record;
mod run;
mod shape;
mod shares;
mod weights;

use core::fmt;

use backend_api::ops::fss::FssOps;
use core_types::Ring;

pub use shape::{MatrixShape, WeightShape};
pub use weights::{OpenedWeights, WeightKey, WeightMask, WeightTriple};

use crate::{BundleError, Dealer, Party, PfssError};
use shares::{Section, SeededShares, Words, expand, multiply_on, split, sum};

/// The ring of matrices if none is given.
const RING: Ring = match Ring::new(64) {
    Some(ring) => ring,
    None => unreachable!(),
};

/// One party's shares of uniform matrices `A`, `B` and of `A B`.
///
/// They are in one [ring](Self::ring), for one batch of products. The fewer bits it has, the fewer
/// are opened: the smallest that holds the product suffices, since products are exact modulo `2^k`.
///
/// Uniform shares are kept as a seed of 32 bytes until the triple is used: all of party 0's, and
/// party 1's of `A` and `B`.
///
/// A triple is used once, like a [`KeyBundle`](crate::KeyBundle): multiplying takes it by value,
/// and the process refuses its nonce a second time. `Debug` shows public facts only; the shares are
/// wiped when dropped.
///
/// ```
/// use pfss::{Dealer, MatrixShape, Session, memory_pair};
///
/// // Party 1 owns the weights, party 0 the input: the other's share is zero, and yet nobody learns anything.
/// let shape = MatrixShape { batch: 1, rows: 1, inner: 2, cols: 2 };
/// let [zero, one] = Dealer::from_os()?.deal_matrix(shape)?;
/// let (to_one, to_zero) = memory_pair(std::time::Duration::from_secs(10));
/// let (q, server_q) = (runtime::cpu()?, runtime::cpu()?);
/// let server = std::thread::spawn(move || {
///     Session::new(to_zero).matmul(&server_q, one, [&[0, 0], &[1, 2, 3, 4]])
/// });
/// let mine = Session::new(to_one).matmul(&q, zero, [&[5, 6], &[0; 4]])?;
/// let theirs = server.join().map_err(|_| "the thread ends")??;
/// assert_eq!([0, 1].map(|j| mine[j].wrapping_add(theirs[j])), [5 + 6 * 3, 5 * 2 + 6 * 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MatrixTriple {
    party: Party,
    ring: Ring,
    shape: MatrixShape,
    nonce: [u8; 16],
    shares: TripleShares,
    /// Whether the process accepts the triple even when it is spent.
    reusable: bool,
}

/// `[A]` in the order `[batch][rows][inner]`, `[B]` in `[batch][inner][cols]`, and `[A B]`.
enum TripleShares {
    /// As read from version 1.
    Words([Words; 3]),
    /// Expanded when they are used.
    Seeded(SeededShares),
}

impl MatrixTriple {
    /// The party whose shares these are.
    #[must_use]
    pub fn party(&self) -> Party {
        self.party
    }

    /// The ring of both factors and of the product.
    #[must_use]
    pub fn ring(&self) -> Ring {
        self.ring
    }

    /// The matrices that can be multiplied.
    #[must_use]
    pub fn shape(&self) -> MatrixShape {
        self.shape
    }

    /// The public nonce, equal in both parties' triples and different for every deal.
    #[must_use]
    pub fn nonce(&self) -> [u8; 16] {
        self.nonce
    }

    /// The shares of `A`, `B` and `A B`.
    fn into_shares(self) -> [Words; 3] {
        let ([left, right, out], ring) = (self.shape.lens(), self.ring);
        match self.shares {
            TripleShares::Words(words) => words,
            TripleShares::Seeded(shares) => [
                expand(&shares.seed, ring, Section::Left, left),
                expand(&shares.seed, ring, Section::Right, right),
                shares.into_product(ring, out),
            ],
        }
    }
}

impl Dealer {
    /// A triple for one batch of products modulo `2^64`, for party 0 and party 1.
    ///
    /// # Errors
    /// [`BundleError::Overflow`] if the matrices do not fit the address space.
    pub fn deal_matrix(&mut self, shape: MatrixShape) -> Result<[MatrixTriple; 2], BundleError> {
        self.deal_matrix_in(RING, shape)
    }

    /// [`deal_matrix`](Self::deal_matrix) in `ring`.
    ///
    /// # Errors
    /// As [`deal_matrix`](Self::deal_matrix).
    pub fn deal_matrix_in(&mut self, ring: Ring, shape: MatrixShape) -> Result<[MatrixTriple; 2], BundleError> {
        self.deal_matrix_by(ring, shape, |[a, b]| Ok(Words::new(shape.multiply(a, b))))
    }

    /// [`deal_matrix_in`](Self::deal_matrix_in) with the product of the masks on a queue.
    ///
    /// The triples are the same. The queue multiplies with all its threads, or on a GPU.
    ///
    /// # Errors
    /// [`PfssError::Bundle`] with the error of [`deal_matrix`](Self::deal_matrix), and
    /// [`PfssError::Backend`].
    pub fn deal_matrix_on<Q: FssOps>(
        &mut self,
        q: &Q,
        ring: Ring,
        shape: MatrixShape,
    ) -> Result<[MatrixTriple; 2], PfssError> {
        self.deal_matrix_by(ring, shape, |factors| Ok(multiply_on(q, shape, factors)?))
    }

    /// A triple for which `multiply` computes `A B` modulo `2^64`.
    fn deal_matrix_by<E: From<BundleError>>(
        &mut self,
        ring: Ring,
        shape: MatrixShape,
        multiply: impl FnOnce([&[u64]; 2]) -> Result<Words, E>,
    ) -> Result<[MatrixTriple; 2], E> {
        let [left, right, _] = shape.checked_lens()?;
        let nonce = self.nonce();
        let seeds = [self.seed(), self.seed()];
        let a = sum(seeds.each_ref(), ring, Section::Left, left);
        let b = sum(seeds.each_ref(), ring, Section::Right, right);
        let [zero, one] = split(ring, multiply([&a[..], &b[..]])?, seeds).map(TripleShares::Seeded);
        let reusable = self.insecure;
        let triple = |party, shares| MatrixTriple { party, ring, shape, nonce, shares, reusable };
        Ok([triple(Party::Zero, zero), triple(Party::One, one)])
    }
}

impl fmt::Debug for MatrixTriple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("MatrixTriple");
        out.field("party", &self.party).field("ring", &self.ring).field("shape", &self.shape);
        out.finish_non_exhaustive()
    }
}
