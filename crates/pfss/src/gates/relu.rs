use core_types::Ring;
use zeroize::Zeroizing;

use super::{
    BitShares, Pending,
    pending::{Opened, Rest},
    tree::{check_inputs, cmp_shares},
};
use crate::{GateKind, KeyBundle, PfssError, SignedRange, Walk, convert, predicate::Program};

/// Rows of the words section behind the input mask.
const C_ROW: usize = 1;
const C_R_ROW: usize = 2;

impl KeyBundle {
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
        self.check_sign(range)?;
        let (bits, product) = self.sign_times_input(q, x_hat)?;
        Ok(Pending::new(&self, &bits, 0, product))
    }

    /// Whether the keys look at as many bits as hold `range`.
    pub(crate) fn check_sign(&self, range: SignedRange) -> Result<(), PfssError> {
        Ok(range.fits(self.gate().sign_ring().bits())?)
    }

    /// The first step of `|x|`, `x` read as signed, from the masked inputs `x_hat`, with keys of
    /// [`Gate::relu`](crate::Gate::relu).
    ///
    /// `|x| = 2 max(x, 0) - x`, and shares of `x = x_hat - r` are at hand. `|-2^(n-1)|` is `2^(n-1)`, unsigned.
    ///
    /// # Errors
    /// As [`eval_relu`](Self::eval_relu).
    pub fn eval_abs<Q: Walk>(self, q: &Q, x_hat: &[u64]) -> Result<Pending, PfssError> {
        self.check_sign(SignedRange::of_bits(self.gate().n()))?;
        let (bits, product) = self.sign_times_input(q, x_hat)?;
        Ok(Pending::new(&self, &bits, 0, Absolute(product)))
    }

    fn sign_times_input<Q: Walk>(&self, q: &Q, x_hat: &[u64]) -> Result<(BitShares, Product), PfssError> {
        self.check_use(GateKind::Relu, x_hat.len())?;
        let (ring, x_hat) = (self.gate().ring(), check_inputs(self, x_hat)?);
        let bits = BitShares::new(self.party(), self.count(), self.sign_bits(q, 0, &x_hat)?);
        Ok((
            bits,
            Product { ring, r: self.word_copy(0), c: self.word_copy(C_ROW), c_r: self.word_copy(C_R_ROW), x_hat },
        ))
    }

    /// XOR shares of `msb(r) ^ 1[x >= 0]` from tree `index`, the comparison key of the bits below the sign.
    pub(super) fn sign_bits<Q: Walk>(&self, q: &Q, index: usize, x_hat: &[u64]) -> Result<Vec<u32>, PfssError> {
        let ring = self.gate().sign_ring();
        let domain = Ring::new(ring.bits() - 1).unwrap_or(ring); // at least 2 bits for gates with such a tree
        let program = Program::non_negative(domain, ring);
        let shares = cmp_shares(q, self, index, &program, x_hat)?;
        Ok(program.combine(self.party(), x_hat, &shares, &[]))
    }
}

/// `bit * x` with `x = x_hat - r`.
struct Product {
    ring: Ring,
    x_hat: Vec<u64>,
    r: Zeroizing<Vec<u64>>,
    c: Zeroizing<Vec<u64>>,
    c_r: Zeroizing<Vec<u64>>,
}

impl Product {
    fn of(&self, opened: &Opened, e: usize) -> u64 {
        let Self { ring, x_hat, r, c, c_r } = self;
        convert::bit_times_masked(*ring, opened.party, opened.bit(0, e), x_hat[e], r[e], c[e], c_r[e])
    }
}

impl Rest<Vec<u64>> for Product {
    fn finish(self: Box<Self>, opened: &Opened) -> Vec<u64> {
        opened.map(|e| self.of(opened, e))
    }
}

/// `2 bit * x - x`.
struct Absolute(Product);

impl Rest<Vec<u64>> for Absolute {
    fn finish(self: Box<Self>, opened: &Opened) -> Vec<u64> {
        let Product { ring, x_hat, r, .. } = &self.0;
        opened.map(|e| {
            let x = opened.party.public(x_hat[e]).wrapping_sub(r[e]);
            ring.sub(self.0.of(opened, e) << 1, x)
        })
    }
}
