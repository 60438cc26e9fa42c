use backend_api::ops::fss::FssOps;
use core_types::Ring;
use zeroize::Zeroizing;

use super::{
    BitShares, Pending,
    pending::Rest,
    tree::{check_inputs, cmp_shares},
};
use crate::{GapCert, GateKind, KeyBundle, PfssError, predicate::Program};

/// Rows of the words section behind the input mask: `[-(r >> f)]`, `[c]`, and for the signed shift
/// `[2^(n-f) msb(r)]`.
pub(crate) const BASE_ROW: usize = 1;
pub(crate) const C_ROW: usize = 2;
pub(crate) const WRAP_ROW: usize = 3;

impl KeyBundle {
    /// The first step of `floor(x / 2^f)` in the ring of `n - f` bits, from the masked inputs `x_hat`.
    ///
    /// With the carry bit `1[x_hat mod 2^f < r mod 2^f]`, the result is `(x_hat >> f) - (r >> f) - carry`: faithful,
    /// without the error of one unit that dropping the carry costs (SIGMA, PETS 2024, section 4.2).
    ///
    /// # Errors
    /// As [`eval_relu`](Self::eval_relu).
    pub fn eval_truncate_reduce<Q: FssOps>(self, q: &Q, x_hat: &[u64]) -> Result<Pending, PfssError> {
        self.check_use(GateKind::TruncateReduce, x_hat.len())?;
        let (n, f) = (self.gate().n(), self.gate().f());
        let ring = Ring::new(n - f).unwrap_or(self.gate().ring()); // 1 <= f < n for this gate
        let x_hat = check_inputs(&self, x_hat)?;
        let base = x_hat.iter().zip(self.word_row(BASE_ROW));
        let base = base.map(|(&x, &minus_r)| ring.add(self.party().public(x >> f), minus_r)).collect();
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
    pub fn eval_gap_ars<Q: FssOps>(self, q: &Q, cert: &GapCert, x_hat: &[u64]) -> Result<Pending, PfssError> {
        self.check_use(GateKind::GapArs, x_hat.len())?;
        let (n, f, ring) = (self.gate().n(), self.gate().f(), self.gate().ring());
        self.check_cert(cert)?;
        let shift = 1u64 << (n - 2); // 3 <= n <= 64 for this gate
        let x_hat: Vec<u64> = check_inputs(&self, x_hat)?.into_iter().map(|x| ring.add(x, shift)).collect();
        let rows = self.word_row(BASE_ROW).iter().zip(self.word_row(WRAP_ROW));
        let base = x_hat.iter().zip(rows).map(|(&x, (&minus_r, &wrap))| {
            let public = ring.sub(x >> f, shift >> f); // f <= n - 2, so the shifted offset is whole
            ring.add(self.party().public(public), ring.add(minus_r, (1 - ring.msb(x)).wrapping_neg() & wrap))
        });
        let base = base.collect();
        // The carry is that of x': the offset is a multiple of 2^f, so the low bits of x_hat' and x_hat agree.
        self.subtract_carry(q, &x_hat, ring, base)
    }

    fn subtract_carry<Q: FssOps>(
        &self,
        q: &Q,
        x_hat: &[u64],
        ring: Ring,
        base: Vec<u64>,
    ) -> Result<Pending, PfssError> {
        let domain = Ring::new(self.gate().f()).unwrap_or(ring); // 1 <= f for these gates
        let program = Program::carry(domain, self.gate().ring());
        let shares = cmp_shares(q, self, &program, x_hat)?;
        let bits = BitShares::new(self.party(), self.count(), program.combine(self.party(), x_hat, &shares, &[]));
        let c = Zeroizing::new(self.word_row(C_ROW).to_vec());
        Ok(Pending::new(self, &bits, 0, Rest::Subtract { ring, base: Zeroizing::new(base), c }))
    }
}
