//! The product of two secret matrices in a session.
//!
//! `[x y] = x_hat y_hat - x_hat [B] - [A] y_hat + [A B]` with the opened `x_hat = x + A` and
//! `y_hat = y + B` (Beaver, CRYPTO 1991, for matrices).

use backend_api::ops::fss::FssOps;
use zeroize::Zeroizing;

use super::{MatrixTriple, RING};
use crate::{Channel, Party, PfssError, Session, spent};

impl<C: Channel> Session<C> {
    /// Shares of the products `x y`, from shares of both factors, all modulo `2^64`.
    ///
    /// One round; [`MatrixShape::traffic`](crate::MatrixShape::traffic) gives the bytes.
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
        let [left, right, _] = triple.shape.lens();
        for (expected, got) in [(left, x.len()), (right, y.len())] {
            if expected != got {
                return Err(PfssError::Length { what: "elements of a factor", expected, got });
            }
        }
        self.check_open()?;
        if triple.party != self.party() {
            return Err(PfssError::WrongParty { expected: self.party(), got: triple.party });
        }
        if !triple.reusable {
            spent::spend(triple.nonce, triple.party)?;
        }
        self.closing(|session| {
            let shape = triple.shape;
            let lens = [shape.batch, shape.rows, shape.inner, shape.cols].map(|len| len as u64);
            session.record_digest(&facts(b"pfss matrix product v1", &triple.nonce, &lens), left);
            // Both masked factors are opened in one round.
            let masks = triple.a.iter().chain(triple.b.iter());
            let mine: Vec<u64> = x.iter().chain(y).zip(masks).map(|(x, mask)| x.wrapping_add(*mask)).collect();
            let opened = session.open_words(q, RING, &mine)?;
            let (x_hat, y_hat) = opened.split_at(left);
            // Party 0 adds the public product to the first factor.
            let public = |word: u64| if triple.party == Party::Zero { word } else { 0 };
            let rest: Vec<u64> = y_hat.iter().zip(triple.b.iter()).map(|(y, b)| public(*y).wrapping_sub(*b)).collect();
            let (first, second) = (shape.multiply(x_hat, &Zeroizing::new(rest)), shape.multiply(&triple.a, y_hat));
            let terms = first.iter().zip(&second).zip(triple.c.iter());
            Ok(terms.map(|((first, second), c)| first.wrapping_sub(*second).wrapping_add(*c)).collect())
        })
    }

    /// Opens shared values to one party.
    ///
    /// This party receives the words modulo `2^64`; the other learns nothing. One round; the
    /// receiver sends only its step digest.
    ///
    /// # Errors
    /// [`PfssError::Channel`], which closes the session, and [`PfssError::Closed`].
    pub fn reveal<Q: FssOps>(&mut self, q: &Q, to: Party, shares: &[u64]) -> Result<Option<Vec<u64>>, PfssError> {
        self.check_open()?;
        self.closing(|session| {
            session.record_digest(&facts(b"pfss reveal v1", &[to.number()], &[shares.len() as u64]), shares.len());
            session.give_words(q, RING, to, shares)
        })
    }
}

/// A digest of a step's name and public facts.
fn facts(step: &[u8], name: &[u8], lens: &[u64]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(step);
    hasher.update(name);
    lens.iter().for_each(|len| {
        hasher.update(&len.to_le_bytes());
    });
    *hasher.finalize().as_bytes()
}
