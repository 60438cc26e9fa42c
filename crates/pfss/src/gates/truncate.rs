use core_types::{
    Ring,
    params::share::{Threshold, WordTerm},
};

use super::{BitShares, Pending, bit_sums::predicate_shares, sums::Sums, tree::check_inputs};
use crate::{GapCert, GateKind, KeyBundle, MaskedKeys, PfssError, Walk, predicate::Program};

/// Rows of the words section after the input mask: `[-(r >> f)]`, `[c]`, and for the signed shift
/// `[2^(n-f) msb(r)]`.
const BASE_ROW: u32 = 1;
pub(super) const C_ROW: u32 = 2;
const WRAP_ROW: u32 = 3;

/// The row of the opened carry.
pub(super) const CARRY: u32 = 0;

impl MaskedKeys {
    /// The first step of `floor(x / 2^f)` in the ring of `n - f` bits, from the masked inputs `x_hat`.
    ///
    /// With the carry bit `1[x_hat mod 2^f < r mod 2^f]`, the result is `(x_hat >> f) - (r >> f) - carry`: faithful,
    /// without the error of one unit that dropping the carry costs (SIGMA, PETS 2024, section 4.2).
    ///
    /// # Errors
    /// As [`eval_relu`](Self::eval_relu).
    pub fn eval_truncate_reduce<Q: Walk>(self, q: &Q, x_hat: &[u64]) -> Result<Pending, PfssError> {
        let Self(bundle) = self;
        bundle.check_use(GateKind::TruncateReduce, x_hat.len())?;
        let gate = bundle.gate();
        let x_hat = check_inputs(&bundle, x_hat)?;
        let sums = Sums::new(gate.ring(), gate.out_ring()).of_shifted(0, gate.f());
        bundle.open_carry(q, x_hat, sums.sum(SHIFTED))
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
        let Self(bundle) = self;
        bundle.check_use(GateKind::GapArs, x_hat.len())?;
        let (n, f, ring) = (bundle.gate().n(), bundle.gate().f(), bundle.gate().ring());
        bundle.check_cert(cert)?;
        let shift = 1u64 << (n - 2); // 3 <= n <= 64 for this gate
        let x_hat = check_inputs(&bundle, x_hat)?;
        let wrap = WordTerm::word(WRAP_ROW).when(Threshold { shift, ..lower_half(ring) });
        let back = WordTerm::ONE.times(shift >> f).minus(); // f <= n - 2, so the shifted offset is whole
        let sums = Sums::new(ring, ring).of_shifted(shift, f).sum(SHIFTED.into_iter().chain([wrap, back]));
        // The carry is that of x': the offset is a multiple of 2^f, so the low bits of x_hat' and x_hat agree.
        bundle.open_carry(q, x_hat, sums)
    }
}

impl KeyBundle {
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
        predicate_shares(q, self, index, &program, x_hat)
    }

    fn open_carry<Q: Walk>(self, q: &Q, x_hat: Vec<u64>, sums: Sums) -> Result<Pending, PfssError> {
        let carry = self.carry_bits(q, 0, self.gate().f(), &x_hat)?;
        let bits = BitShares::new(self.party(), self.count(), carry);
        Ok(Pending::summed(self, &bits, 0, Some(x_hat), sums))
    }
}

/// `(x_hat >> f) - (r >> f) - carry`, where the shifted input is the variable of the sums.
pub(super) const SHIFTED: [WordTerm; 3] =
    [WordTerm::ONE.power(1), WordTerm::word(BASE_ROW), WordTerm::bit(CARRY, C_ROW).minus()];

/// The comparison that holds where the top bit of a word of `ring` is 0.
pub(super) const fn lower_half(ring: Ring) -> Threshold {
    Threshold { shift: 0, bound: 1 << (ring.bits() - 1), bits: ring.bits(), wanted: 1 }
}
