//! The product of two secrets, from one triple.
//!
//! `[x y] = x_hat y_hat - x_hat [b] - y_hat [a] + [a b]` with the opened `x_hat = x + a` and
//! `y_hat = y + b` (Beaver, CRYPTO 1991).

use zeroize::Zeroizing;

use crate::{
    GateKind, KeyBundle, MaskedKeys, PfssError,
    gate::kinds::product::{A_ROW, B_ROW, PRODUCT_ROW},
};

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

/// Additive shares of `x y`, from the opened `x_hat = x + a` and `y_hat = y + b`.
///
/// In `opened`, `y_hat` comes after `x_hat`.
pub(super) fn product(bundle: &KeyBundle, opened: &[u64]) -> Vec<u64> {
    let (x_hat, y_hat) = opened.split_at(bundle.count());
    let (ring, output) = (bundle.gate().ring(), bundle.gate().output_mask_row());
    let share = |e: usize| {
        let (x, y) = (x_hat[e], y_hat[e]);
        let [a, b, a_b] = [A_ROW, B_ROW, PRODUCT_ROW].map(|row| bundle.word_row(row)[e]);
        let masks = x.wrapping_mul(b).wrapping_add(y.wrapping_mul(a));
        let public = bundle.party().public(x.wrapping_mul(y));
        let product = public.wrapping_sub(masks).wrapping_add(a_b);
        ring.reduce(product.wrapping_add(output.map_or(0, |row| bundle.word_row(row as usize)[e])))
    };
    (0..bundle.count()).map(share).collect()
}
