use backend_api::ops::fss::FssOps;
use core_types::Ring;
use zeroize::Zeroizing;

use super::{
    BitShares, Pending,
    pending::Rest,
    tree::{check_inputs, cmp_shares},
};
use crate::{GateKind, KeyBundle, PfssError, predicate::Program};

/// Rows of the words section behind the input mask.
pub(crate) const C_ROW: usize = 1;
pub(crate) const C_R_ROW: usize = 2;

impl KeyBundle {
    /// The first step of `max(x, 0)`, `x` read as signed, from the masked inputs `x_hat`.
    ///
    /// The sign bit is `msb(x_hat) ^ msb(r) ^ P(x_hat mod 2^(n-1))` with `P` the comparison key of the low bits of
    /// `r`; the dealer's bit is `msb(r) ^ c`, so that what is opened is the sign under the mask `c`.
    ///
    /// # Errors
    /// [`PfssError::Kind`] for keys of another gate, [`PfssError::Length`] unless there is one input per element,
    /// [`PfssError::Backend`].
    pub fn eval_relu<Q: FssOps>(self, q: &Q, x_hat: &[u64]) -> Result<Pending, PfssError> {
        self.check_use(GateKind::Relu, x_hat.len())?;
        let ring = self.gate().ring();
        let domain = Ring::new(ring.bits() - 1).unwrap_or(ring); // n >= 2 for this gate
        let program = Program::non_negative(domain, ring);
        let x_hat = check_inputs(&self, x_hat)?;
        let shares = cmp_shares(q, &self, &program, &x_hat)?;
        let bits = BitShares::new(self.party(), self.count(), program.combine(self.party(), &x_hat, &shares, &[]));
        let row = |row| Zeroizing::new(self.word_row(row).to_vec());
        let rest = Rest::Product { ring, r: row(0), c: row(C_ROW), c_r: row(C_R_ROW), x_hat };
        Ok(Pending::new(&self, &bits, 0, rest))
    }
}
