//! Comparisons of a secret with public constants, chosen when they are evaluated.
//!
//! With `P(y) = 1[r <= y]`, and `P'` for the low `n - 1` bits:
//! - `1[x < b] = P(x_hat) ^ P(x_hat - b) ^ 1[x_hat < b]`,
//! - `1[a <= x < b] = P(x_hat - a) ^ P(x_hat - b) ^ 1[x_hat - b > x_hat - a]`,
//! - `msb(x + c) = P'(x_hat + c) ^ msb(r) ^ msb(x_hat + c) ^ 1`
//!
//! (Boyle et al., EUROCRYPT 2021, interval containment). Opened as `w = p ^ c`, a predicate `p` has
//! the additive shares `w + (1 - 2w) [c]`.

use core::slice;

use core_types::{Ring, params::share::WordTerm};

use super::{
    shares::{bits::BitShares, sums::BundleSums},
    tasks::compare::Compare,
    walk::{
        comparison::{Comparison, answers},
        evaluator::Evaluator,
        tree::Trees,
    },
};
use crate::{Gate, KeyBundle, PfssError, Predicate, answers::ComparisonProgram, error::check_len, tree::KeyTree};

/// The plan of predicates as additive shares.
///
/// Each predicate is opened under a bit of the dealer, from row `first_mask` on, and shared again
/// as a word.
pub(super) fn additive(gate: &Gate, predicates: &[Predicate], first_mask: usize) -> Result<Compare, PfssError> {
    check_len("predicates", gate.masks() as usize, predicates.len())?;
    let comparison = Comparison::new(&ComparisonProgram::new(gate, predicates)?);
    let (ring, bit) = (gate.ring(), |at: u32| [WordTerm::bit(at, 1 + at)]);
    let sums = (0..predicates.len() as u32).fold(BundleSums::new(ring, ring), |sums, at| sums.sum(bit(at)));
    Ok(Compare::new(gate, vec![comparison], sums).with_first_mask(first_mask))
}

impl ComparisonProgram {
    /// Checks `predicates` against `gate` and plans their evaluation.
    pub(crate) fn new(gate: &Gate, predicates: &[Predicate]) -> Result<Self, PfssError> {
        let ring = gate.ring();
        let domain = match gate.trees()[..] {
            [KeyTree::Cmp { bits }] => Ring::new(bits).unwrap_or(ring), // 1 <= bits <= n for every gate
            _ => ring,                                                  // a gate without predicates
        };
        let mut program = Self::empty(domain, ring);
        for (index, &predicate) in predicates.iter().enumerate() {
            if predicate.kind() != gate.kind() {
                return Err(PfssError::PredicateKind { index, expected: predicate.kind(), got: gate.kind() });
            }
            predicate.check(index, ring, domain)?;
            program.push(predicate);
        }
        Ok(program)
    }
}

impl Comparison {
    /// XOR shares of the planned predicates, one row each, from the masked input of each element.
    pub(super) fn eval_bits<W: Evaluator>(
        &self,
        evaluator: &W,
        bundle: &KeyBundle,
        x_hat: &[u64],
    ) -> Result<BitShares, PfssError> {
        let trees = Trees::at(evaluator, bundle, x_hat, [self.points()], [self.list()], false)?;
        let mut bits = answers(&trees, slice::from_ref(self))?;
        Ok(BitShares::new(bundle.party(), bundle.count(), core::mem::take(&mut *bits)))
    }
}
