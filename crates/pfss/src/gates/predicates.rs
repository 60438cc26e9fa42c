use core_types::Ring;
use zeroize::Zeroizing;

use super::{
    BitShares, Pending,
    pending::{Opened, Rest},
    tree::{check_inputs, cmp_shares},
};
use crate::{GateKind, KeyBundle, PfssError, Predicate, Walk, convert, predicate::Program};

impl KeyBundle {
    /// XOR shares of `predicates` of `x`, one row per predicate, from the masked inputs `x_hat`. No round is needed.
    ///
    /// # Errors
    /// [`PfssError::PredicateKind`], [`PfssError::Constant`] or [`PfssError::EmptyInterval`] for predicates that the
    /// keys do not answer; [`PfssError::Length`] unless there is one input per element; [`PfssError::Backend`].
    pub fn eval_predicates<Q: Walk>(
        self,
        q: &Q,
        predicates: &[Predicate],
        x_hat: &[u64],
    ) -> Result<BitShares, PfssError> {
        self.predicate_bits(q, predicates, x_hat)
    }

    /// The first step towards additive shares of `predicates`, row after row. Needs one masked bit per predicate
    /// ([`Gate::with_masks`](crate::Gate::with_masks)).
    ///
    /// # Errors
    /// As [`eval_predicates`](Self::eval_predicates), and [`PfssError::Length`] if the bundle has not as many masks.
    pub fn eval_predicates_additive<Q: Walk>(
        self,
        q: &Q,
        predicates: &[Predicate],
        x_hat: &[u64],
    ) -> Result<Pending, PfssError> {
        self.check_masks(predicates)?;
        let bits = self.predicate_bits(q, predicates, x_hat)?;
        let mut c = Zeroizing::new(Vec::with_capacity(predicates.len() * self.count()));
        (0..predicates.len()).for_each(|row| c.extend_from_slice(self.word_row(1 + row)));
        let first_mask = usize::from(self.gate().kind() == GateKind::SignPredicates);
        let rest = Bits { ring: self.gate().ring(), c };
        Ok(Pending::new(&self, &bits, first_mask, rest))
    }

    fn predicate_bits<Q: Walk>(&self, q: &Q, predicates: &[Predicate], x_hat: &[u64]) -> Result<BitShares, PfssError> {
        let program = Program::new(self.gate(), predicates)?;
        let x_hat = check_inputs(self, x_hat)?;
        let shares = cmp_shares(q, self, 0, &program, &x_hat)?;
        let msb = if self.gate().kind() == GateKind::SignPredicates { self.bit_row(0) } else { &[] };
        Ok(BitShares::new(self.party(), self.count(), program.combine(self.party(), &x_hat, &shares, msb)))
    }
}

/// Row after row of bits to additive shares of the bits, with `[c]` for each.
struct Bits {
    ring: Ring,
    c: Zeroizing<Vec<u64>>,
}

impl Rest<Vec<u64>> for Bits {
    fn finish(self: Box<Self>, opened: &Opened) -> Vec<u64> {
        let element = |(at, &c): (usize, &u64)| {
            convert::bit(self.ring, opened.party, opened.bit(at / opened.count, at % opened.count), c)
        };
        self.c.iter().enumerate().map(element).collect()
    }
}
