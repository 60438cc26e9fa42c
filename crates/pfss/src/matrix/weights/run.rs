//! The opening of weights in a session, and products by them.
//!
//! `[x y] = x_hat y_hat - x_hat [B] - [A] y_hat + [A B]` with `x_hat = x + A`, opened for each
//! product, and `y_hat = y + B`, opened before (Beaver, CRYPTO 1991).

use backend_api::{BackendError, Buffer as _, Ref, ops::fss::FssOps};
use core_types::Ring;

use super::{DeviceCopies, OpenedWeights, SharedQueue, WeightKey, WeightShape, WeightTriple};
use crate::{
    Channel, DeviceShares, Party, PfssError, Session,
    device_shares::arithmetic::{Mask, check_count, masked},
    error::check_len,
    matrix::{
        on_device::expanded,
        opened::Opened,
        run::{dimensions, facts},
        shares::{Section, SeededShares, Words, expand},
    },
    secret::{masking::add_masks, seed::Seed, staging::copy_on},
    spent,
};

impl<C: Channel> Session<C> {
    /// Opens `y + B`, from shares of the weights `y` in the ring of the key.
    ///
    /// One round; [`WeightShape::traffic`](crate::WeightShape::traffic) gives the bytes. The
    /// weights are row-major. If one party owns them, the other's share of them is zeros.
    ///
    /// # Errors
    /// [`PfssError::Length`] for weights of another length, and as [`matmul`](Self::matmul). A
    /// session that fails after it has sent its message has spent the key: the dealer has to make
    /// another.
    pub fn open_weights<Q: FssOps>(&mut self, q: &Q, key: WeightKey, y: &[u64]) -> Result<OpenedWeights, PfssError> {
        // The weights and the party are checked, and the key is spent.
        let WeightKey { party, ring, shape, nonce, seed, reusable } = key;
        check_len("elements of the weights", shape.elements(), y.len())?;
        self.check_open()?;
        self.check_owner(party)?;
        if !reusable {
            spent::spend(nonce, party)?;
        }
        self.closing(|session| {
            let name = facts(b"pfss opening of weights v1", &nonce, &dimensions(ring, shape.product(0)));
            session.record_digest(&name, y.len());
            let mask = expand(&seed, ring, Section::Right, y.len());
            let opened = session.open_words(q, ring, &add_masks(ring, y, [&mask[..]]))?;
            Ok(OpenedWeights::new(party, (ring, shape), nonce, seed, Words::new(opened)))
        })
    }

    /// Shares of the product `x y` in the ring of the opened weights `y`, from shares of `x`.
    ///
    /// One round, which opens `x + A`;
    /// [`WeightShape::product_traffic`](crate::WeightShape::product_traffic) gives the bytes.
    /// `x` has the rows of the triple and is row-major. A device keeps a copy of the weights.
    ///
    /// # Errors
    /// [`PfssError::OtherWeights`] if the triple is for weights under another key,
    /// [`PfssError::Length`] for another shape, and as [`matmul`](Self::matmul), all before
    /// anything is sent or spent. [`PfssError::Channel`] with
    /// [`ChannelError::Step`](crate::ChannelError::Step) if the two parties' weights were opened
    /// differently, by this step's message.
    pub fn matmul_weights<Q: SharedQueue>(
        &mut self,
        q: &Q,
        triple: WeightTriple,
        x: &[u64],
        weights: &OpenedWeights,
    ) -> Result<Vec<u64>, PfssError> {
        let ring = triple.ring;
        let mask = |shares: &SeededShares| {
            let a = expand(&shares.seed, ring, Section::Left, x.len());
            Ok((add_masks(ring, x, [&a[..]]), Some(a)))
        };
        self.multiply_by_weights(q, triple, x.len(), weights, mask, |opened, words| opened.to_host(q, words))
    }

    /// [`matmul_weights`](Self::matmul_weights) of shares in device memory.
    ///
    /// The product stays there. Its words, the messages and the spending of the triple are the same
    /// as by [`matmul_weights`](Self::matmul_weights), so that the other party may call either. The
    /// shares may be in a ring of more bits than the triple's.
    ///
    /// # Errors
    /// [`PfssError::WiderRing`] for a triple of a ring of more bits than the shares',
    /// [`PfssError::WrongParty`] for shares of the other party, and [`PfssError::Length`] for more
    /// shares than one op takes, at most `2^32 - 1`, all before anything is sent or spent, and as
    /// [`matmul_weights`](Self::matmul_weights).
    pub fn matmul_weights_on_device<'q, Q: SharedQueue>(
        &mut self,
        triple: WeightTriple,
        x: &DeviceShares<'q, Q>,
        weights: &OpenedWeights,
    ) -> Result<DeviceShares<'q, Q>, PfssError> {
        let (q, party, ring, shape) = (x.queue(), triple.party, triple.ring, triple.weights.product(triple.rows));
        x.check_ring_within(ring)?;
        self.check_owner(x.party())?;
        check_count(x.len())?;
        let mask = |shares: &SeededShares| {
            if shares.are_expanded(q, shape) {
                let a = expanded(q, &shares.seed, (ring, Section::Left), x.len())?;
                return Ok((masked(q, ring, &[(x.view(), Mask::Device(a.view()))])?.download()?, None));
            }
            let a = expand(&shares.seed, ring, Section::Left, x.len());
            Ok((add_masks(ring, x.to_host()?, [&a[..]]), Some(a)))
        };
        let words = self.multiply_by_weights(q, triple, x.len(), weights, mask, |_, words| copy_on(q, words))?;
        Ok(DeviceShares::new(q, party, ring, words))
    }

    /// Opens a first factor of `len` elements, and multiplies it by weights.
    ///
    /// `mask` returns the factor plus its mask, and the mask if it is in host memory. `take` reads
    /// the share of the product; only its bits in the ring count.
    fn multiply_by_weights<Q: SharedQueue, T>(
        &mut self,
        q: &Q,
        triple: WeightTriple,
        len: usize,
        weights: &OpenedWeights,
        mask: impl FnOnce(&SeededShares) -> Result<(Vec<u64>, Option<Words>), PfssError>,
        take: impl FnOnce(&Opened<'_>, Ref<'_, Q, u64>) -> Result<T, BackendError>,
    ) -> Result<T, PfssError> {
        // Shapes, keys and parties are checked, and the triple is spent.
        let WeightTriple { party, ring, rows, weights: expected, nonce, key_nonce, shares, reusable } = triple;
        let shape = expected.product(rows);
        let [left, right, out] = shape.lens();
        check_len("elements of the first factor", left, len)?;
        self.check_open()?;
        self.check_owner(party)?;
        self.check_owner(weights.party)?;
        if key_nonce != weights.nonce {
            return Err(PfssError::OtherWeights { expected: key_nonce, got: weights.nonce });
        }
        check_len("bits of the weights", ring.bits() as usize, weights.ring.bits() as usize)?;
        check_len("rows of the weights", expected.inner, weights.shape.inner)?;
        check_len("columns of the weights", expected.cols, weights.shape.cols)?;
        if !reusable {
            spent::spend(nonce, party)?;
        }
        self.closing(|session| {
            let names = [&nonce[..], &key_nonce, &weights.digest].concat();
            let step = facts(b"pfss product by opened weights v1", &names, &dimensions(ring, shape));
            session.record_digest(&step, left);
            // The masked first factor is opened, while a device gets the second one at its first product.
            let placed = weights.copies.on(q, &weights.words)?;
            let (mine, a) = mask(&shares)?;
            let x_hat = session.open_words(q, ring, &mine)?;
            // The masked second factor has been. Masks are expanded on the host only for queues that do not.
            let opened = Opened { party, ring, shape, x_hat: &x_hat, y_hat: &weights.words };
            let placed = placed.as_ref().map(|copy| copy.words.view());
            let take = |words: Ref<'_, Q, u64>| take(&opened, words);
            if shares.are_expanded(q, shape) {
                return Ok(opened.multiply_expanded(q, placed, &shares, &weights.seed, take)?);
            }
            let a = a.unwrap_or_else(|| expand(&shares.seed, ring, Section::Left, left));
            let b = expand(&weights.seed, ring, Section::Right, right);
            Ok(opened.multiply(q, placed, [a, b, shares.into_product(ring, out)], take)?)
        })
    }
}

impl OpenedWeights {
    pub(super) fn new(
        party: Party,
        (ring, shape): (Ring, WeightShape),
        nonce: [u8; 16],
        seed: Seed,
        words: Words,
    ) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&facts(b"pfss opened weights v1", &nonce, &dimensions(ring, shape.product(0))));
        words.iter().for_each(|word| {
            hasher.update(&word.to_le_bytes());
        });
        let digest = *hasher.finalize().as_bytes();
        Self { party, ring, shape, nonce, seed, words, digest, copies: DeviceCopies::default() }
    }
}
