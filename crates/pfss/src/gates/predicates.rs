//! Comparisons of a secret with public constants, chosen when they are evaluated.
//!
//! With `P(y) = 1[r <= y]`, and `P'` for the low `n - 1` bits:
//! - `1[x < b] = P(x_hat) ^ P(x_hat - b) ^ 1[x_hat < b]`,
//! - `1[a <= x < b] = P(x_hat - a) ^ P(x_hat - b) ^ 1[x_hat - b > x_hat - a]`,
//! - `msb(x + c) = P'(x_hat + c) ^ msb(r) ^ msb(x_hat + c) ^ 1`
//!
//! (Boyle et al., EUROCRYPT 2021, interval containment). Opened as `w = p ^ c`, a predicate `p` has
//! the additive shares `w + (1 - 2w) [c]`.

use core_types::{Ring, params::share::WordTerm};

use super::{
    shares::{bits::BitShares, pending::Pending, sums::BundleSums},
    tasks::{
        evaluation::GateEvaluation,
        plan::{Compare, TaskPlan},
    },
    walk::{comparison::Comparison, inputs::reduced, tree::Trees},
};
use crate::{
    Evaluator, Gate, KeyBundle, MaskedKeys, PfssError, Predicate, Task,
    answers::ComparisonProgram,
    gate::kinds::predicates::{FullPredicates, LowPredicates, SignPredicates},
    tree::KeyTree,
};

impl GateEvaluation for FullPredicates {
    fn plan(&self, gate: &Gate, task: &Task<'_>) -> Result<TaskPlan, PfssError> {
        additive(gate, task, 0)
    }
}

impl GateEvaluation for SignPredicates {
    fn plan(&self, gate: &Gate, task: &Task<'_>) -> Result<TaskPlan, PfssError> {
        additive(gate, task, 1) // the first row of bits is the top bit of the mask
    }
}

impl GateEvaluation for LowPredicates {
    fn plan(&self, gate: &Gate, task: &Task<'_>) -> Result<TaskPlan, PfssError> {
        additive(gate, task, 0)
    }
}

/// The plan of predicates as additive shares.
///
/// Each predicate is opened under a bit of the dealer, from row `first_mask` on, and shared again
/// as a word.
fn additive(gate: &Gate, task: &Task<'_>, first_mask: usize) -> Result<TaskPlan, PfssError> {
    let Task::Predicates(predicates) = task else { return Err(task.not_for(gate)) };
    let (expected, got) = (gate.masks() as usize, predicates.len());
    if expected != got {
        return Err(PfssError::Length { what: "predicates", expected, got });
    }
    let comparison = Comparison::new(&ComparisonProgram::new(gate, predicates)?);
    let (ring, bit) = (gate.ring(), |at: u32| [WordTerm::bit(at, 1 + at)]);
    let sums = (0..predicates.len() as u32).fold(BundleSums::new(ring, ring), |sums, at| sums.sum(bit(at)));
    Ok(TaskPlan::Compare(Compare::new(gate, vec![comparison], sums).with_first_mask(first_mask)))
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
    /// Plans the XOR shares of `predicates`, checked against `gate`.
    pub(crate) fn of_predicates(gate: &Gate, predicates: &[Predicate]) -> Result<Self, PfssError> {
        ComparisonProgram::new(gate, predicates).map(|program| Self::new(&program))
    }

    /// XOR shares of the planned predicates, from the masked input of each element.
    pub(crate) fn eval_bits<Q: Evaluator>(
        &self,
        q: &Q,
        bundle: &KeyBundle,
        x_hat: Vec<u64>,
    ) -> Result<BitShares, PfssError> {
        let x_hat = reduced(bundle.gate().ring(), x_hat);
        let mut bits = self.eval(&Trees::at(q, bundle, &x_hat)?, 0)?;
        Ok(BitShares::new(bundle.party(), bundle.count(), core::mem::take(&mut *bits)))
    }
}

impl MaskedKeys {
    /// XOR shares of `predicates` of `x`, one row per predicate, from the masked inputs `x_hat`.
    ///
    /// No round is needed.
    ///
    /// # Errors
    /// [`PfssError::PredicateKind`], [`PfssError::Constant`] or [`PfssError::EmptyInterval`] for
    /// predicates that the keys do not answer; [`PfssError::Length`] unless there is one input per
    /// element; [`PfssError::Backend`].
    pub fn eval_predicates<Q: Evaluator>(
        self,
        q: &Q,
        predicates: &[Predicate],
        x_hat: &[u64],
    ) -> Result<BitShares, PfssError> {
        let plan = Comparison::of_predicates(self.gate(), predicates)?;
        self.0.check_use(self.gate().kind(), x_hat.len())?;
        plan.eval_bits(q, &self.0, x_hat.to_vec())
    }

    /// The first step towards additive shares of `predicates`, row after row.
    ///
    /// Needs one masked bit per predicate ([`Gate::with_masks`]).
    ///
    /// # Errors
    /// As [`eval_predicates`](Self::eval_predicates), and [`PfssError::Length`] if the number of
    /// masks in the bundle differs.
    pub fn eval_predicates_additive<Q: Evaluator>(
        self,
        q: &Q,
        predicates: &[Predicate],
        x_hat: &[u64],
    ) -> Result<Pending, PfssError> {
        self.eval(q, Task::Predicates(predicates), x_hat)
    }
}
