use core_types::Ring;
use zeroize::Zeroizing;

use super::{
    BitShares, Pending,
    pending::{Opened, Rest},
    tree::{check_inputs, cmp_shares},
};
use crate::{GapCert, GateKind, KeyBundle, PfssError, Walk, convert, predicate::Program};

/// Rows of the words section behind the input mask: `[-(r >> f)]`, `[c]`, and for the signed shift
/// `[2^(n-f) msb(r)]`.
pub(super) const BASE_ROW: usize = 1;
pub(super) const C_ROW: usize = 2;
const WRAP_ROW: usize = 3;

impl KeyBundle {
    /// The first step of `floor(x / 2^f)` in the ring of `n - f` bits, from the masked inputs `x_hat`.
    ///
    /// With the carry bit `1[x_hat mod 2^f < r mod 2^f]`, the result is `(x_hat >> f) - (r >> f) - carry`: faithful,
    /// without the error of one unit that dropping the carry costs (SIGMA, PETS 2024, section 4.2).
    ///
    /// # Errors
    /// As [`eval_relu`](Self::eval_relu).
    pub fn eval_truncate_reduce<Q: Walk>(self, q: &Q, x_hat: &[u64]) -> Result<Pending, PfssError> {
        self.check_use(GateKind::TruncateReduce, x_hat.len())?;
        let (n, f) = (self.gate().n(), self.gate().f());
        let ring = Ring::new(n - f).unwrap_or(self.gate().ring()); // 1 <= f < n for this gate
        let x_hat = check_inputs(&self, x_hat)?;
        let base = self.shifted_base(ring, &x_hat);
        self.subtract_carry(q, &x_hat, ring, base)
    }

    /// The first step of `floor(x / 2^f)` for signed `x`, from the masked inputs `x_hat`, given the proof `cert` that
    /// every input satisfies `-2^(n-2) <= x < 2^(n-2)`.
    ///
    /// On `x' = x + 2^(n-2)`, which lies in the lower half of the ring, the wrap of `x' + r` is `msb(r)` whenever the
    /// top bit of `x_hat' = x_hat + 2^(n-2)` is 0 (SIGMA, PETS 2024, section 4.2), so one comparison of `f` bits is
    /// enough: `(x_hat' >> f) - (r >> f) - carry + (1 - msb(x_hat')) 2^(n-f) msb(r) - 2^(n-f-2)`.
    ///
    /// # Errors
    /// [`PfssError::CertWidth`] for a certificate of another ring, and as [`eval_relu`](Self::eval_relu).
    pub fn eval_gap_ars<Q: Walk>(self, q: &Q, cert: &GapCert, x_hat: &[u64]) -> Result<Pending, PfssError> {
        self.check_use(GateKind::GapArs, x_hat.len())?;
        let (n, f, ring) = (self.gate().n(), self.gate().f(), self.gate().ring());
        self.check_cert(cert)?;
        let shift = 1u64 << (n - 2); // 3 <= n <= 64 for this gate
        let x_hat: Vec<u64> = check_inputs(&self, x_hat)?.into_iter().map(|x| ring.add(x, shift)).collect();
        let mut base = self.shifted_base(ring, &x_hat);
        for ((base, &x), &wrap) in base.iter_mut().zip(&x_hat).zip(self.word_row(WRAP_ROW)) {
            let wrapped = (1 - ring.msb(x)).wrapping_neg() & wrap;
            // f <= n - 2, so the shifted offset is whole
            *base = ring.add(*base, wrapped.wrapping_sub(self.party().public(shift >> f)));
        }
        // The carry is that of x': the offset is a multiple of 2^f, so the low bits of x_hat' and x_hat agree.
        self.subtract_carry(q, &x_hat, ring, base)
    }

    /// Shares of `(x_hat >> f) - (r >> f)`.
    pub(super) fn shifted_base(&self, ring: Ring, x_hat: &[u64]) -> Zeroizing<Vec<u64>> {
        let base = x_hat.iter().zip(self.word_row(BASE_ROW));
        let add = |(&x, &minus_r): (&u64, &u64)| ring.add(self.party().public(x >> self.gate().f()), minus_r);
        Zeroizing::new(base.map(add).collect())
    }

    /// XOR shares of `1[x_hat mod 2^k < r mod 2^k]` from tree `index`, the comparison key of the low `k` bits: the
    /// carry out of the low `f` bits, the borrow of the low `n - 1`, or the wrap of all `n`.
    pub(super) fn carry_bits<Q: Walk>(
        &self,
        q: &Q,
        index: usize,
        k: u32,
        x_hat: &[u64],
    ) -> Result<Vec<u32>, PfssError> {
        let ring = self.gate().ring();
        let program = Program::carry(Ring::new(k).unwrap_or(ring), ring); // 1 <= k <= n for gates with such a tree
        let shares = cmp_shares(q, self, index, &program, x_hat)?;
        Ok(program.combine(self.party(), x_hat, &shares, &[]))
    }

    fn subtract_carry<Q: Walk>(
        &self,
        q: &Q,
        x_hat: &[u64],
        ring: Ring,
        base: Zeroizing<Vec<u64>>,
    ) -> Result<Pending, PfssError> {
        let carry = self.carry_bits(q, 0, self.gate().f(), x_hat)?;
        let bits = BitShares::new(self.party(), self.count(), carry);
        Ok(Pending::new(self, &bits, 0, Subtract { ring, base, c: self.word_copy(C_ROW) }))
    }
}

/// `base - bit`.
struct Subtract {
    ring: Ring,
    base: Zeroizing<Vec<u64>>,
    c: Zeroizing<Vec<u64>>,
}

impl Rest<Vec<u64>> for Subtract {
    fn finish(self: Box<Self>, opened: &Opened) -> Vec<u64> {
        let carry = |e| convert::bit(self.ring, opened.party, opened.bit(0, e), self.c[e]);
        opened.map(|e| self.ring.sub(self.base[e], carry(e)))
    }
}
