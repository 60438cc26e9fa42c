//! Products of two secret matrices, using a dealer's triple for whole matrices.
//!
//! The product of `rows x inner` and `inner x cols` opens `rows inner + inner cols` masked words,
//! instead of two for each of its `rows inner cols` scalar products (Mohassel, Zhang, IEEE S&P
//! 2017).

mod codec;
mod on_device;
mod opened;
mod record;
mod run;
mod shape;
mod shares;
mod weights;

use core::fmt;

use backend_api::ops::fss::FssOps;
use core_types::Ring;

pub use shape::{MatrixShape, WeightShape};
pub use weights::{OpenedWeights, SharedQueue, WeightKey, WeightMask, WeightTriple};

use crate::{Dealer, Party, PfssError};
use shares::{ProductShare, Section, SeededShares, Words, expand, split};

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
/// use pfss::{Dealer, MatrixShape, Ring, Session, memory_pair};
///
/// // Party 1 owns the weights, party 0 the input: the other's share is zero, and yet nobody learns anything.
/// let shape = MatrixShape { batch: 1, rows: 1, inner: 2, cols: 2 };
/// let ring = Ring::new(64).ok_or("a ring has 1 to 64 bits")?;
/// let (q, server_q) = (runtime::cpu()?, runtime::cpu()?);
/// let [zero, one] = Dealer::from_os()?.deal_matrix(&q, ring, shape)?;
/// let (to_one, to_zero) = memory_pair(std::time::Duration::from_secs(10));
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

    /// The shares of `A` and `B`, and the share of `A B`.
    fn into_masks(self) -> ([Words; 2], ProductShare) {
        let ([left, right, _], ring) = (self.shape.lens(), self.ring);
        match self.shares {
            TripleShares::Words([a, b, product]) => ([a, b], ProductShare::Words(product)),
            TripleShares::Seeded(shares) => {
                let masks = [(Section::Left, left), (Section::Right, right)];
                let masks = masks.map(|(section, len)| expand(&shares.seed, ring, section, len));
                (masks, ProductShare::Seeded(shares))
            }
        }
    }
}

impl Dealer {
    /// A triple for one batch of products in `ring`, for party 0 and party 1.
    ///
    /// The queue multiplies the masks, with all its threads or on a GPU. The triples do not depend
    /// on it. A device expands large masks from their seeds, and nothing is copied there. If it has
    /// no memory for two more of the larger mask, both masks are copied.
    ///
    /// # Errors
    /// [`PfssError::Bundle`] with [`BundleError::Overflow`](crate::BundleError::Overflow) if the
    /// matrices do not fit the address space. [`PfssError::Backend`] if the queue fails, or has no
    /// memory for both masks and their product; a queue that reads the host's memory takes none.
    pub fn deal_matrix<Q: FssOps>(
        &mut self,
        q: &Q,
        ring: Ring,
        shape: MatrixShape,
    ) -> Result<[MatrixTriple; 2], PfssError> {
        shape.checked_lens()?;
        let nonce = self.nonce();
        let seeds = [self.seed(), self.seed()];
        let shares = split(q, (ring, shape), seeds.clone(), seeds.each_ref())?;
        let [zero, one] = shares.map(TripleShares::Seeded);
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
