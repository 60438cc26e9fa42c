//! The product of two secrets, from one triple.
//!
//! `[x y] = x_hat y_hat - x_hat [b] - y_hat [a] + [a b]` with the opened `x_hat = x + a` and
//! `y_hat = y + b` (Beaver, CRYPTO 1991).

use core_types::Ring;
use zeroize::Zeroizing;

use crate::{
    GateKind, KeyBundle, MaskedKeys, PfssError,
    dealer::{Draw, Secrets, map2},
    gate::{Bounds, GateRule, HeaderParameters, KeyTree},
};

/// Rows of the words section after the mask `[a]` of the first factor: `[b]`, `[a b]`.
const B_ROW: usize = 1;
const A_B_ROW: usize = 2;

/// A triple `a`, `b`, `a b` for each element.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ProductRule;

impl ProductRule {
    pub(crate) const BOUNDS: Bounds = Bounds::of_ring(1, 64);

    pub(crate) fn of(_: HeaderParameters) -> Option<Self> {
        Some(Self)
    }
}

impl GateRule for ProductRule {
    fn inputs(&self) -> usize {
        2
    }

    fn trees(&self, _: Ring) -> Vec<KeyTree> {
        Vec::new()
    }

    fn word_rows(&self) -> u64 {
        2
    }

    fn bit_rows(&self) -> u64 {
        0
    }

    fn draw(&self, ring: Ring, draw: &mut Draw<'_>, secrets: &mut Secrets) {
        let (a, b) = (draw.r(), draw.second(ring));
        let product = map2(a, &b, |a, b| ring.mul(a, b));
        secrets.words.extend([b, product]);
    }
}

impl KeyBundle {
    /// [`mask`](Self::mask) for the two factors of a product.
    ///
    /// Returns this party's additive shares of `x + a`, then of `y + b`, to be opened, and the keys
    /// for the opened words.
    ///
    /// # Errors
    /// [`PfssError::Kind`] for keys of another gate, [`PfssError::Length`] unless there are two
    /// factors per element, and as [`mask`](Self::mask).
    pub fn mask_factors(self, x: &[u64], y: &[u64]) -> Result<(Vec<u64>, MaskedKeys), PfssError> {
        self.check_factors(x, y)?;
        self.mask(&Zeroizing::new([x, y].concat()))
    }

    /// Whether these are keys for this many factors.
    pub(crate) fn check_factors(&self, x: &[u64], y: &[u64]) -> Result<(), PfssError> {
        [x, y].iter().try_for_each(|factors| self.check_use(GateKind::Product, factors.len()))
    }
}

impl MaskedKeys {
    /// Additive shares of `x y`, from the opened `x_hat = x + a` and `y_hat = y + b`.
    ///
    /// In `opened`, `y_hat` comes after `x_hat`. The shares are
    /// `x_hat y_hat - x_hat b - y_hat a + a b` (Beaver, CRYPTO 1991).
    ///
    /// # Errors
    /// [`PfssError::Kind`] for keys of another gate, [`PfssError::Length`] unless there are two
    /// factors per element.
    pub fn eval_product(self, opened: &[u64]) -> Result<Vec<u64>, PfssError> {
        let Self(bundle) = self;
        let expected = 2 * bundle.count();
        if opened.len() != expected {
            return Err(PfssError::Length { what: "factors", expected, got: opened.len() });
        }
        bundle.check_use(GateKind::Product, bundle.count())?;
        let (x_hat, y_hat) = opened.split_at(bundle.count());
        let (ring, output) = (bundle.gate().ring(), bundle.gate().output_mask_row());
        let share = |e: usize| {
            let (x, y) = (x_hat[e], y_hat[e]);
            let masks = x.wrapping_mul(bundle.word_row(B_ROW)[e]).wrapping_add(y.wrapping_mul(bundle.word_row(0)[e]));
            let public = bundle.party().public(x.wrapping_mul(y));
            let product = public.wrapping_sub(masks).wrapping_add(bundle.word_row(A_B_ROW)[e]);
            ring.reduce(product.wrapping_add(output.map_or(0, |row| bundle.word_row(row as usize)[e])))
        };
        Ok((0..bundle.count()).map(share).collect())
    }
}
