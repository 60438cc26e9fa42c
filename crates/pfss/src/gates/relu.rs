//! `max(x, 0)` and `|x|`: the sign of a secret times the secret.
//!
//! With `P(y) = 1[r mod 2^(n-1) <= y]`, the bit `b = 1[x >= 0]` is
//! `P(x_hat mod 2^(n-1)) ^ msb(r) ^ msb(x_hat)`. Opened as `w = b ^ c`, it gives
//! `max(x, 0) = b x = w (x_hat - [r]) + (1 - 2w) (x_hat [c] - [c r])`, and `|x| = 2 b x - x`. For
//! inputs of `k` bits, `k` replaces `n` in `b`.

use core_types::{Ring, params::share::WordTerm};

use super::{shares::sums::BundleSums, tasks::compare::Compare, walk::comparison::Comparison};
use crate::{
    Gate, PfssError, SignedRange,
    answers::ComparisonProgram,
    gate::kinds::relu::{C_ROW, PRODUCT_ROW, R_ROW, Relu},
};

/// `b x = w (x_hat - [r]) + (1 - 2w) (x_hat [c] - [c r])` for the opened bit `w = b ^ c`.
const PRODUCT: [WordTerm; 2] = [WordTerm::bit(0, C_ROW).power(1), WordTerm::selected(0, R_ROW, PRODUCT_ROW).minus()];

impl Relu {
    /// The plan of `max(x, 0)` for inputs in a proven range, `x` read as signed.
    ///
    /// The dealer's bit is `msb(r) ^ c`, so that the opened bit is the sign under the mask `c`.
    pub(super) fn plan(&self, gate: &Gate, range: SignedRange) -> Result<Compare, PfssError> {
        self.signed(gate, range, PRODUCT.to_vec())
    }

    /// The plan of `|x|`, `x` read as signed.
    ///
    /// `|x| = 2 max(x, 0) - x`, and shares of `x = x_hat - r` are at hand. `|-2^(n-1)|` is
    /// `2^(n-1)`, unsigned.
    pub(super) fn plan_abs(&self, gate: &Gate) -> Result<Compare, PfssError> {
        let minus_x = [WordTerm::ONE.power(1), WordTerm::word(R_ROW).minus()].map(WordTerm::minus);
        let terms = PRODUCT.into_iter().map(|term| term.times(2)).chain(minus_x);
        self.signed(gate, SignedRange::of_bits(gate.n()), terms.collect())
    }

    /// The plan of `terms` over the opened sign of inputs in `range`.
    fn signed(&self, gate: &Gate, range: SignedRange, terms: Vec<WordTerm>) -> Result<Compare, PfssError> {
        let ring = gate.ring();
        let sign_ring = self.sign_ring(ring);
        range.fits(sign_ring.bits())?;
        Ok(Compare::new(gate, vec![sign(sign_ring)], BundleSums::new(ring, ring).sum(terms)))
    }
}

/// Shares of `msb(r) ^ 1[x >= 0]` for a signed `x` in `ring`.
///
/// They come from the comparison key of the bits below the sign.
pub(super) fn sign(ring: Ring) -> Comparison {
    let domain = Ring::new(ring.bits() - 1).unwrap_or(ring); // at least 2 bits for gates with such a tree
    Comparison::new(&ComparisonProgram::non_negative(domain, ring))
}
