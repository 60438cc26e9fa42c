use core_types::{Ring, params::share::WordTerm};

use super::{BitShares, Pending, bit_sums::predicate_shares, sums::Sums, tree::check_inputs};
use crate::{GateKind, KeyBundle, MaskedKeys, PfssError, SignedRange, Walk, predicate::Program};

/// Rows of the words section: the input mask `[r]`, the sign's mask `[c]`, and `[c r]`.
const R_ROW: u32 = 0;
const C_ROW: u32 = 1;
const C_R_ROW: u32 = 2;

impl MaskedKeys {
    /// The first step of `max(x, 0)`, `x` read as signed, from the masked inputs `x_hat`.
    ///
    /// The sign bit is `msb(x_hat) ^ msb(r) ^ P(x_hat mod 2^(n-1))` with `P` the comparison key of the low bits of
    /// `r`; the dealer's bit is `msb(r) ^ c`, so that what is opened is the sign under the mask `c`.
    ///
    /// # Errors
    /// [`PfssError::Kind`] for keys of another gate, [`PfssError::Range`] for keys of
    /// [`Gate::relu_within`](crate::Gate::relu_within) fewer bits, [`PfssError::Length`] unless there is one input per
    /// element, [`PfssError::Backend`].
    pub fn eval_relu<Q: Walk>(self, q: &Q, x_hat: &[u64]) -> Result<Pending, PfssError> {
        let all = SignedRange::of_bits(self.gate().n());
        self.eval_relu_within(q, all, x_hat)
    }

    /// The first step of `max(x, 0)` for inputs in a proven range, which may then have keys of fewer bits: the sign of
    /// an integer of `k` bits is the top bit of its low `k` bits.
    ///
    /// # Errors
    /// [`PfssError::Range`] if the keys look at fewer bits than hold the range, and as [`eval_relu`](Self::eval_relu).
    pub fn eval_relu_within<Q: Walk>(self, q: &Q, range: SignedRange, x_hat: &[u64]) -> Result<Pending, PfssError> {
        self.0.check_sign(range)?;
        self.sign_times_input(q, x_hat, |product| product.to_vec())
    }

    /// The first step of `|x|`, `x` read as signed, from the masked inputs `x_hat`, with keys of
    /// [`Gate::relu`](crate::Gate::relu).
    ///
    /// `|x| = 2 max(x, 0) - x`, and shares of `x = x_hat - r` are at hand. `|-2^(n-1)|` is `2^(n-1)`, unsigned.
    ///
    /// # Errors
    /// As [`eval_relu`](Self::eval_relu).
    pub fn eval_abs<Q: Walk>(self, q: &Q, x_hat: &[u64]) -> Result<Pending, PfssError> {
        self.0.check_sign(SignedRange::of_bits(self.gate().n()))?;
        self.sign_times_input(q, x_hat, |product| {
            let x = [WordTerm::ONE.power(1), WordTerm::word(R_ROW).minus()];
            product.iter().map(|term| term.times(2)).chain(x.map(WordTerm::minus)).collect()
        })
    }

    /// Opens the sign `b = 1[x >= 0]`; the result is the sum of `terms(b x)`.
    ///
    /// `b x = w (x_hat - [r]) + (1 - 2w) (x_hat [c] - [c r])` for the opened bit `w = b ^ c`.
    fn sign_times_input<Q: Walk>(
        self,
        q: &Q,
        x_hat: &[u64],
        terms: impl FnOnce(&[WordTerm]) -> Vec<WordTerm>,
    ) -> Result<Pending, PfssError> {
        let Self(bundle) = self;
        bundle.check_use(GateKind::Relu, x_hat.len())?;
        let (ring, x_hat) = (bundle.gate().ring(), check_inputs(&bundle, x_hat)?);
        let bits = BitShares::new(bundle.party(), bundle.count(), bundle.sign_bits(q, 0, &x_hat)?);
        let product = [WordTerm::bit(0, C_ROW).power(1), WordTerm::selected(0, R_ROW, C_R_ROW).minus()];
        let sums = Sums::new(ring, ring).sum(terms(&product));
        Ok(Pending::summed(bundle, &bits, 0, Some(x_hat), sums))
    }
}

impl KeyBundle {
    /// Whether the keys look at as many bits as hold `range`.
    pub(crate) fn check_sign(&self, range: SignedRange) -> Result<(), PfssError> {
        Ok(range.fits(self.gate().sign_ring().bits())?)
    }

    /// XOR shares of `msb(r) ^ 1[x >= 0]` from tree `index`, the comparison key of the bits below the sign.
    pub(super) fn sign_bits<Q: Walk>(&self, q: &Q, index: usize, x_hat: &[u64]) -> Result<Vec<u32>, PfssError> {
        let ring = self.gate().sign_ring();
        let domain = Ring::new(ring.bits() - 1).unwrap_or(ring); // at least 2 bits for gates with such a tree
        let program = Program::non_negative(domain, ring);
        predicate_shares(q, self, index, &program, x_hat)
    }
}
