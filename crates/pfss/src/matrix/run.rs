//! The product of two secret matrices in a session.
//!
//! `[x y] = x_hat y_hat - x_hat [B] - [A] y_hat + [A B]` with the opened `x_hat = x + A` and
//! `y_hat = y + B` (Beaver, CRYPTO 1991, for matrices).

use backend_api::{Ref, ops::fss::FssOps};
use core_types::Ring;
use zeroize::Zeroizing;

use super::{MatrixShape, MatrixTriple, opened::Opened, shares::ProductShare};
use crate::{
    Channel, Party, PfssError, Session, error::check_len, gate::check_ring, secret::masking::add_masks, spent,
};

impl<C: Channel> Session<C> {
    /// Shares of the products `x y`, from shares of both factors, all in the ring of the triple.
    ///
    /// One round, in which an element of `k` bits takes `k` bits;
    /// [`MatrixShape::traffic`](crate::MatrixShape::traffic) gives the bytes. Bits of the
    /// factors above the ring are ignored.
    ///
    /// If one party owns a factor, the other party's share of it is zeros. With `x̂ = x + A` and
    /// `ŷ = y + B` opened, the product is `x̂ ŷ - x̂ B - A ŷ + A B` (Beaver, CRYPTO 1991).
    ///
    /// # Errors
    /// [`PfssError::Length`] for factors of another shape, and as [`relu`](Self::relu).
    pub fn matmul<Q: FssOps>(
        &mut self,
        q: &Q,
        triple: MatrixTriple,
        [x, y]: [&[u64]; 2],
    ) -> Result<Vec<u64>, PfssError> {
        self.spend_triple(&triple, [x.len(), y.len()])?;
        let MatrixTriple { party, ring, shape, .. } = triple;
        let [left, _, out] = shape.lens();
        self.closing(|session| {
            session.record_triple(&triple);
            // Both masked factors are opened in one round.
            let ([a, b], product) = triple.into_masks();
            let mine = add_masks(ring, [x, y].concat(), [&a[..], &b]);
            let opened = session.open_words(q, ring, &mine)?;
            let (x_hat, y_hat) = opened.split_at(left);
            // The host has masked the factors, since it makes the messages. A device expands large shares again.
            let opened = Opened { party, ring, shape, x_hat, y_hat };
            let take = |words: Ref<'_, Q, u64>| opened.to_host(q, words);
            if let ProductShare::Seeded(shares) = &product
                && shares.are_expanded(q, shape)
            {
                return Ok(opened.multiply_expanded(q, None, shares, &shares.seed, take)?);
            }
            Ok(opened.multiply(q, None, [a, b, product.into_words(ring, out)], take)?)
        })
    }

    /// Checks the lengths of the factors and the party, and spends the triple.
    pub(super) fn spend_triple(&self, triple: &MatrixTriple, factors: [usize; 2]) -> Result<(), PfssError> {
        let [left, right, _] = triple.shape.lens();
        for (expected, got) in [left, right].into_iter().zip(factors) {
            check_len("elements of a factor", expected, got)?;
        }
        self.check_open()?;
        self.check_owner(triple.party)?;
        if triple.reusable { Ok(()) } else { spent::spend(triple.nonce, triple.party) }
    }

    /// Adds the public facts of a product to the transcript.
    pub(super) fn record_triple(&mut self, triple: &MatrixTriple) {
        let [left, ..] = triple.shape.lens();
        let lens = dimensions(triple.ring, triple.shape);
        self.record_digest(&facts(b"pfss matrix product v2", &triple.nonce, &lens), left);
    }

    /// [`matmul`](Self::matmul) of factors in `ring`, with a triple of that ring alone.
    ///
    /// # Errors
    /// [`PfssError::KeyRing`] for a triple of another ring, before anything is sent or spent, and
    /// as [`matmul`](Self::matmul).
    pub fn matmul_in<Q: FssOps>(
        &mut self,
        q: &Q,
        ring: Ring,
        triple: MatrixTriple,
        factors: [&[u64]; 2],
    ) -> Result<Vec<u64>, PfssError> {
        check_ring(ring, triple.ring)?;
        self.matmul(q, triple, factors)
    }

    /// Opens values shared in `ring` to one party.
    ///
    /// This party receives the words; the other learns nothing. One round, in which an element of
    /// `k` bits takes `k` bits; the receiver sends only its step digest. Products in a ring below
    /// 64 bits are shared in that ring, and in no wider one.
    ///
    /// # Errors
    /// [`PfssError::Channel`], which closes the session, and [`PfssError::Closed`].
    pub fn reveal<Q: FssOps>(
        &mut self,
        q: &Q,
        ring: Ring,
        to: Party,
        shares: &[u64],
    ) -> Result<Option<Vec<u64>>, PfssError> {
        self.check_open()?;
        let shares = Zeroizing::new(shares.iter().map(|&share| ring.reduce(share)).collect::<Vec<_>>());
        self.closing(|session| {
            let lens = [u64::from(ring.bits()), shares.len() as u64];
            session.record_digest(&facts(b"pfss reveal v2", &[to.number()], &lens), shares.len());
            session.give_words(q, ring, to, &shares)
        })
    }

    /// Refuses secrets of the other party.
    pub(crate) fn check_owner(&self, party: Party) -> Result<(), PfssError> {
        if party == self.party() { Ok(()) } else { Err(PfssError::WrongParty { expected: self.party(), got: party }) }
    }
}

/// The numbers of a ring and a shape, for a transcript.
pub(super) fn dimensions(ring: Ring, shape: MatrixShape) -> [u64; 5] {
    [ring.bits() as usize, shape.batch, shape.rows, shape.inner, shape.cols].map(|number| number as u64)
}

/// A digest of a step's name and public facts.
pub(super) fn facts(step: &[u8], name: &[u8], lens: &[u64]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(step);
    hasher.update(name);
    lens.iter().for_each(|len| {
        hasher.update(&len.to_le_bytes());
    });
    *hasher.finalize().as_bytes()
}
