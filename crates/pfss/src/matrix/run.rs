//! The product of two secret matrices in a session.
//!
//! `[x y] = x_hat y_hat - x_hat [B] - [A] y_hat + [A B]` with the opened `x_hat = x + A` and
//! `y_hat = y + B` (Beaver, CRYPTO 1991, for matrices).

use backend_api::{
    BackendError, Buffer as _,
    ops::{fss::FssOps, share::MatmulWords},
};
use core_types::params::share::MatmulWordsParams;
use zeroize::Zeroizing;

use super::{MatrixShape, MatrixTriple, RING};
use crate::{Channel, Party, PfssError, Session, spent, staging::StagedSecret};

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
            Ok(multiplied(q, &triple, opened.split_at(left))?)
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

/// `x_hat (y_hat - [B]) - [A] y_hat + [A B]` on the queue, with `y_hat` for party 0 alone.
#[expect(clippy::disallowed_methods, reason = "both parties know the masked factors")]
fn multiplied<Q: FssOps>(
    q: &Q,
    triple: &MatrixTriple,
    (x_hat, y_hat): (&[u64], &[u64]),
) -> Result<Vec<u64>, BackendError> {
    let MatrixShape { batch, rows, inner, cols } = triple.shape;
    let [batch, rows, inner, cols] = [batch, rows, inner, cols].map(|len| len as u64);
    // Party 0 adds the public product to the first product.
    let public = |word: u64| if triple.party == Party::Zero { word } else { 0 };
    let rest: Vec<u64> = y_hat.iter().zip(triple.b.iter()).map(|(y, b)| public(*y).wrapping_sub(*b)).collect();
    let rest = StagedSecret::upload(q, &Zeroizing::new(rest))?;
    let (x_hat, y_hat, a) = (q.upload(x_hat)?, q.upload(y_hat)?, StagedSecret::upload(q, &triple.a)?);
    // Both products are added to the dealer's, the second with the opposite sign.
    let mut out = StagedSecret::upload(q, &triple.c)?;
    let plus = MatmulWordsParams { batch, rows, inner, cols, alpha: 1, beta: 1 };
    q.matmul_words(MatmulWords { params: &plus, x: x_hat.view(), y: rest.view(), out: out.view_mut() })?;
    let minus = MatmulWordsParams { alpha: u64::MAX, ..plus };
    q.matmul_words(MatmulWords { params: &minus, x: a.view(), y: y_hat.view(), out: out.view_mut() })?;
    out.download()
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
