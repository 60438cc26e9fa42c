use core_types::params::share::WordTerm;

use super::{BitShares, Pending, bit_sums::predicate_shares, sums::Sums, tree::check_inputs};
use crate::{GateKind, KeyBundle, MaskedKeys, PfssError, Predicate, Walk, predicate::Program};

impl MaskedKeys {
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
        self.0.predicate_bits(q, predicates, x_hat)
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
        let Self(bundle) = self;
        bundle.check_masks(predicates)?;
        let bits = bundle.predicate_bits(q, predicates, x_hat)?;
        let first_mask = usize::from(bundle.gate().kind() == GateKind::SignPredicates);
        let ring = bundle.gate().ring();
        let bit = |at: u32| [WordTerm::bit(at, 1 + at)];
        let sums = (0..predicates.len() as u32).fold(Sums::new(ring, ring), |sums, at| sums.sum(bit(at)));
        let x_hat = check_inputs(&bundle, x_hat)?;
        Ok(Pending::summed(bundle, &bits, first_mask, Some(x_hat), sums))
    }
}

impl KeyBundle {
    fn predicate_bits<Q: Walk>(&self, q: &Q, predicates: &[Predicate], x_hat: &[u64]) -> Result<BitShares, PfssError> {
        let program = Program::new(self.gate(), predicates)?;
        let x_hat = check_inputs(self, x_hat)?;
        let mut bits = predicate_shares(q, self, 0, &program, &x_hat)?;
        if self.gate().kind() == GateKind::SignPredicates {
            program.add_msb(self.bit_row(0), self.count(), &mut bits);
        }
        Ok(BitShares::new(self.party(), self.count(), bits))
    }
}
