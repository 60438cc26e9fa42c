//! The product of two secret matrices in a session.
//!
//! `[x y] = x_hat y_hat - x_hat [B] - [A] y_hat + [A B]` with the opened `x_hat = x + A` and
//! `y_hat = y + B` (Beaver, CRYPTO 1991, for matrices).

use backend_api::{
    BackendError, BufferRef as _,
    ops::{fss::FssOps, share::MatmulWords},
};
use core_types::{Ring, params::share::MatmulWordsParams};
use zeroize::Zeroizing;

use super::{MatrixShape, MatrixTriple, RING, shares::Words};
use crate::{Channel, Party, PfssError, Session, gate::check_ring, secret::staging::StagedSecret, spent};

impl<C: Channel> Session<C> {
    /// Shares of the products `x y`, from shares of both factors, all in the ring of the triple.
    ///
    /// One round, in which an element of `k` bits takes `k` bits;
    /// [`MatrixShape::traffic_in`](crate::MatrixShape::traffic_in) gives the bytes. Bits of the
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
        // Shapes and the party are checked, and the triple is spent.
        let MatrixTriple { party, ring, shape, nonce, reusable, .. } = triple;
        let [left, right, _] = shape.lens();
        for (expected, got) in [(left, x.len()), (right, y.len())] {
            check_len("elements of a factor", expected, got)?;
        }
        self.check_open()?;
        self.check_owner(party)?;
        if !reusable {
            spent::spend(nonce, party)?;
        }
        self.closing(|session| {
            session.record_digest(&facts(b"pfss matrix product v2", &nonce, &dimensions(ring, shape)), left);
            // Both masked factors are opened in one round.
            let [a, b, product] = triple.into_shares();
            let masks = a.iter().chain(b.iter());
            let mine: Vec<u64> = x.iter().chain(y).zip(masks).map(|(x, mask)| ring.add(*x, *mask)).collect();
            let opened = session.open_words(q, ring, &mine)?;
            let (x_hat, y_hat) = opened.split_at(left);
            Ok(Opened { party, ring, shape, x_hat, y_hat }.multiply(q, [&a, &b, &product])?)
        })
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

    /// Opens values shared modulo `2^64` to one party, as [`reveal_in`](Self::reveal_in).
    ///
    /// # Errors
    /// As [`reveal_in`](Self::reveal_in).
    pub fn reveal<Q: FssOps>(&mut self, q: &Q, to: Party, shares: &[u64]) -> Result<Option<Vec<u64>>, PfssError> {
        self.reveal_in(q, RING, to, shares)
    }

    /// Opens values shared in `ring` to one party.
    ///
    /// This party receives the words; the other learns nothing. One round, in which an element of
    /// `k` bits takes `k` bits; the receiver sends only its step digest. Products in a ring below
    /// 64 bits are shared in that ring, and in no wider one.
    ///
    /// # Errors
    /// [`PfssError::Channel`], which closes the session, and [`PfssError::Closed`].
    pub fn reveal_in<Q: FssOps>(
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
    pub(super) fn check_owner(&self, party: Party) -> Result<(), PfssError> {
        if party == self.party() { Ok(()) } else { Err(PfssError::WrongParty { expected: self.party(), got: party }) }
    }
}

/// Masked factors, which both parties know.
pub(super) struct Opened<'a> {
    pub(super) party: Party,
    pub(super) ring: Ring,
    pub(super) shape: MatrixShape,
    pub(super) x_hat: &'a [u64],
    pub(super) y_hat: &'a [u64],
}

impl Opened<'_> {
    /// `x_hat (y_hat - [B]) - [A] y_hat + [A B]` on the queue; the first `y_hat` is party 0's.
    pub(super) fn multiply<Q: FssOps>(&self, q: &Q, [a, b, product]: [&Words; 3]) -> Result<Vec<u64>, BackendError> {
        let MatrixShape { batch, rows, inner, cols } = self.shape;
        let [batch, rows, inner, cols] = [batch, rows, inner, cols].map(|len| len as u64);
        // Party 0 adds the public product to the first product.
        let public = |word: u64| if self.party == Party::Zero { word } else { 0 };
        let rest: Vec<u64> = self.y_hat.iter().zip(b.iter()).map(|(y, b)| public(*y).wrapping_sub(*b)).collect();
        let rest = Zeroizing::new(rest);
        // Both products are added to the dealer's, the second with the opposite sign.
        let plus = MatmulWordsParams { batch, rows, inner, cols, alpha: 1, beta: 1 };
        let minus = MatmulWordsParams { alpha: u64::MAX, ..plus };
        let factors = [self.x_hat, self.y_hat, &rest[..], &a[..]];
        let mut out = match factors.map(|factor| q.host_view(factor)) {
            [Some(x_hat), Some(y_hat), Some(rest), Some(a)] => {
                let mut out = StagedSecret::<_, u64>::upload(q, product)?;
                for (params, x, y) in [(&plus, x_hat, rest), (&minus, a, y_hat)] {
                    q.matmul_words(MatmulWords { params, x: q.shorten(x), y: q.shorten(y), out: out.view_mut() })?;
                }
                out.download()?
            }
            _ => {
                // One copy: the public factors, and the shares after them, which are wiped.
                let mut all = StagedSecret::upload_parts(q, &factors[..2], &[&rest[..], &a[..], &product[..]])?;
                let [left, right, results] = self.shape.lens();
                let [y_hat, rest, a, out] = [left, left + right, left + 2 * right, 2 * (left + right)];
                for (params, x, y) in [(&plus, 0..y_hat, rest..a), (&minus, a..out, y_hat..rest)] {
                    let (read, out) = all.split_at(out)?;
                    q.matmul_words(MatmulWords { params, x: read.slice(x)?, y: read.slice(y)?, out })?;
                }
                q.read_secret(all.slice(out..out + results)?)?
            }
        };
        // The op works modulo 2^64.
        out.iter_mut().for_each(|word| *word = self.ring.reduce(*word));
        Ok(out)
    }
}

/// Checks a length of host slices.
pub(super) fn check_len(what: &'static str, expected: usize, got: usize) -> Result<(), PfssError> {
    if expected == got { Ok(()) } else { Err(PfssError::Length { what, expected, got }) }
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
