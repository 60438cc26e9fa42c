//! Products by secret weights that are opened under a mask once, for any number of products.
//!
//! A [`MatrixTriple`](crate::MatrixTriple) masks both factors afresh. Here the mask `B` of the
//! weights `y` stays: `y + B` is opened once, and each product by `y` has a fresh `A` and fresh
//! shares of `A B`. So a product opens `x + A` alone, and is the same sum as with any triple
//! (Beaver, CRYPTO 1991; matrices: SecureML, IEEE S&P 2017).

mod codec;
mod placed;
mod run;

use core::fmt;

use backend_api::ops::fss::FssOps;
use core_types::Ring;

use super::{
    WeightShape,
    shares::{SeededShares, Words, split},
};
use crate::{BundleError, Dealer, Party, PfssError, secret::seed::Seed};
use placed::DeviceCopies;

pub use placed::SharedQueue;

/// One party's share of the uniform mask `B` of a matrix of weights.
///
/// With a [`MatrixTriple`](crate::MatrixTriple) each product opens both factors. Weights `y` under
/// a key are opened once, as `y + B`. Each product by them then takes a separate [`WeightTriple`]
/// and opens `x + A` alone.
///
/// # Security
///
/// A party's view can be simulated from its own inputs and results, in the model of the crate:
///
/// - `y + B` is uniform, since each party has a uniform share of `B` that the other never gets. It
///   is opened once.
/// - `x + A` is uniform and independent for every product, since each `A` is fresh and uniform.
/// - The shares of `A B` are uniform: party 0's is drawn for each product, party 1's is the
///   difference to it.
///
/// This holds for any number of products as long as `B` masks one matrix: two matrices under one
/// `B` would reveal their difference. [`Session::open_weights`](crate::Session::open_weights)
/// therefore takes the key by value, the process refuses its nonce a second time, and nothing else
/// makes [`OpenedWeights`]. A copy of the bytes of a key, used for other weights in a second
/// process, cannot be detected by this crate.
///
/// `Debug` shows public facts only; the share is kept as a seed of 32 bytes, wiped when dropped.
///
/// ```
/// use pfss::{Dealer, Ring, Session, WeightShape, memory_pair};
///
/// // The dealer makes a key for the weights, and a triple for each product.
/// let (ring, shape) = (Ring::new(64).ok_or("a ring has 1 to 64 bits")?, WeightShape { inner: 2, cols: 2 });
/// let (q, server_q, mut dealer) = (runtime::cpu()?, runtime::cpu()?, Dealer::from_os()?);
/// let ([key, server_key], mask) = dealer.deal_weights(ring, shape)?;
/// let [first, server_first] = dealer.deal_weight_triple(&q, &mask, 1)?;
/// let [second, server_second] = dealer.deal_weight_triple(&q, &mask, 3)?;
///
/// // Party 1 owns the weights, party 0 the inputs: the other's share is zero.
/// let (to_one, to_zero) = memory_pair(std::time::Duration::from_secs(10));
/// let server = std::thread::spawn(move || {
///     let mut session = Session::new(to_zero);
///     let weights = session.open_weights(&server_q, server_key, &[1, 2, 3, 4])?;
///     session.matmul_weights(&server_q, server_first, &[0; 2], &weights)?;
///     session.matmul_weights(&server_q, server_second, &[0; 6], &weights)
/// });
/// let mut session = Session::new(to_one);
/// let weights = session.open_weights(&q, key, &[0; 4])?;
/// session.matmul_weights(&q, first, &[5, 6], &weights)?;
/// let mine = session.matmul_weights(&q, second, &[1, 0, 0, 1, 1, 1], &weights)?;
/// let theirs = server.join().map_err(|_| "the thread ends")??;
/// let product: Vec<u64> = mine.iter().zip(&theirs).map(|(a, b)| a.wrapping_add(*b)).collect();
/// assert_eq!(product, [1, 2, 3, 4, 4, 6]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct WeightKey {
    party: Party,
    ring: Ring,
    shape: WeightShape,
    nonce: [u8; 16],
    /// Gives `[B]`, `[inner][cols]`.
    seed: Seed,
    /// Whether the process accepts the key even when it is spent.
    reusable: bool,
}

/// The dealer's mask `B` of a matrix of weights, from which it makes triples.
///
/// Whoever has it can open the weights, so it stays with the dealer, for triples of later runs.
///
/// `Debug` shows public facts only; both seeds are wiped when dropped.
pub struct WeightMask {
    ring: Ring,
    shape: WeightShape,
    nonce: [u8; 16],
    /// Both parties' seeds of `B`.
    seeds: [Seed; 2],
}

/// One party's shares of a uniform `A` and of `A B`, for a product by weights under `B`.
///
/// A triple is used once, like a [`MatrixTriple`](crate::MatrixTriple). `Debug` shows public facts
/// only; the shares are wiped when dropped.
pub struct WeightTriple {
    party: Party,
    ring: Ring,
    rows: usize,
    weights: WeightShape,
    nonce: [u8; 16],
    /// The nonce of the key that masks the weights.
    key_nonce: [u8; 16],
    shares: SeededShares,
    /// Whether the process accepts the triple even when it is spent.
    reusable: bool,
}

/// Weights that two parties have opened under a mask, for any number of products.
///
/// They hold the opened words, which are uniform by themselves, and this party's share of the mask.
/// Both parties' shares together would show the weights, so the bytes are as secret as keys. They
/// are never made from weights except by [`Session::open_weights`](crate::Session::open_weights),
/// which spends the key of the mask.
///
/// A device with separate memory gets one copy of the words, at the first product on any of its
/// queues. The copy holds its queue. It is dropped
///
/// - with the weights,
/// - at the first product on another device, and
/// - if a product, a gate or a dealer lacks memory on the device.
///
/// The next product makes it again. A product that uses the copy keeps it. Weights are copied for
/// each product instead if more than half of the device's budget would then be taken.
///
/// `Debug` shows public facts only; the contents are wiped when dropped, on devices too.
pub struct OpenedWeights {
    party: Party,
    ring: Ring,
    shape: WeightShape,
    nonce: [u8; 16],
    /// Gives `[B]`, `[inner][cols]`.
    seed: Seed,
    /// `y + B`, `[inner][cols]`.
    words: Words,
    /// Of the key's nonce, the shape and the opened words.
    digest: [u8; 32],
    /// The opened words on devices.
    copies: DeviceCopies,
}

impl WeightKey {
    /// The party whose share this is.
    #[must_use]
    pub fn party(&self) -> Party {
        self.party
    }

    /// The ring of the weights and of products by them.
    #[must_use]
    pub fn ring(&self) -> Ring {
        self.ring
    }

    /// The weights that can be opened.
    #[must_use]
    pub fn shape(&self) -> WeightShape {
        self.shape
    }

    /// The public nonce, equal in both parties' keys and different for every deal.
    #[must_use]
    pub fn nonce(&self) -> [u8; 16] {
        self.nonce
    }
}

impl WeightMask {
    /// The ring of the weights and of products by them.
    #[must_use]
    pub fn ring(&self) -> Ring {
        self.ring
    }

    /// The masked weights.
    #[must_use]
    pub fn shape(&self) -> WeightShape {
        self.shape
    }

    /// The nonce of the keys.
    #[must_use]
    pub fn nonce(&self) -> [u8; 16] {
        self.nonce
    }
}

impl WeightTriple {
    /// The party whose shares these are.
    #[must_use]
    pub fn party(&self) -> Party {
        self.party
    }

    /// The ring of the first factor and of the product.
    #[must_use]
    pub fn ring(&self) -> Ring {
        self.ring
    }

    /// Rows of the first factor and of the product.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The weights that it multiplies by.
    #[must_use]
    pub fn weights(&self) -> WeightShape {
        self.weights
    }

    /// The public nonce, equal in both parties' triples and different for every deal.
    #[must_use]
    pub fn nonce(&self) -> [u8; 16] {
        self.nonce
    }

    /// The nonce of the key of the weights.
    #[must_use]
    pub fn key_nonce(&self) -> [u8; 16] {
        self.key_nonce
    }
}

impl OpenedWeights {
    /// The party whose share of the mask this holds.
    #[must_use]
    pub fn party(&self) -> Party {
        self.party
    }

    /// The ring of the weights and of products by them.
    #[must_use]
    pub fn ring(&self) -> Ring {
        self.ring
    }

    /// The shape of the weights.
    #[must_use]
    pub fn shape(&self) -> WeightShape {
        self.shape
    }

    /// The nonce of the key that the weights were opened with.
    #[must_use]
    pub fn nonce(&self) -> [u8; 16] {
        self.nonce
    }

    /// The digest of the opened words, equal for both parties.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }
}

impl Dealer {
    /// Keys for one matrix of weights, for party 0 and party 1, and the dealer's own mask.
    ///
    /// Weights, products by them and all triples of the mask are in `ring`.
    ///
    /// # Errors
    /// [`BundleError::Overflow`] if the weights do not fit the address space.
    pub fn deal_weights(
        &mut self,
        ring: Ring,
        shape: WeightShape,
    ) -> Result<([WeightKey; 2], WeightMask), BundleError> {
        shape.product(0).checked_lens()?;
        let nonce = self.nonce();
        let seeds = [self.seed(), self.seed()];
        let reusable = self.insecure;
        let key = |party, seed: &Seed| WeightKey { party, ring, shape, nonce, seed: seed.clone(), reusable };
        let keys = [key(Party::Zero, &seeds[0]), key(Party::One, &seeds[1])];
        Ok((keys, WeightMask { ring, shape, nonce, seeds }))
    }

    /// A triple for a first factor of `rows` rows by weights under `mask`.
    ///
    /// It is for party 0 and party 1. Any dealer can make it, if it has the mask. The queue
    /// multiplies, as in [`deal_matrix`](Self::deal_matrix).
    ///
    /// # Errors
    /// As [`deal_matrix`](Self::deal_matrix).
    pub fn deal_weight_triple<Q: FssOps>(
        &mut self,
        q: &Q,
        mask: &WeightMask,
        rows: usize,
    ) -> Result<[WeightTriple; 2], PfssError> {
        let (ring, weights, key_nonce) = (mask.ring, mask.shape, mask.nonce);
        let shape = weights.product(rows);
        shape.checked_lens()?;
        let nonce = self.nonce();
        let seeds = [self.seed(), self.seed()];
        let [zero, one] = split(q, (ring, shape), seeds, mask.seeds.each_ref())?;
        let reusable = self.insecure;
        let triple = |party, shares| WeightTriple { party, ring, rows, weights, nonce, key_nonce, shares, reusable };
        Ok([triple(Party::Zero, zero), triple(Party::One, one)])
    }
}

impl fmt::Debug for WeightKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("WeightKey");
        out.field("party", &self.party).field("ring", &self.ring).field("shape", &self.shape);
        out.finish_non_exhaustive()
    }
}

impl fmt::Debug for WeightMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeightMask").field("ring", &self.ring).field("shape", &self.shape).finish_non_exhaustive()
    }
}

impl fmt::Debug for WeightTriple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("WeightTriple");
        out.field("party", &self.party).field("ring", &self.ring);
        out.field("rows", &self.rows).field("weights", &self.weights);
        out.finish_non_exhaustive()
    }
}

impl fmt::Debug for OpenedWeights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("OpenedWeights");
        out.field("party", &self.party).field("ring", &self.ring).field("shape", &self.shape);
        out.finish_non_exhaustive()
    }
}
