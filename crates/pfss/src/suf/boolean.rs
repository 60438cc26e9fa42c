//! Compilation of formulas to computations on shares.
//!
//! The results are step functions of `x`, which are free, and conjunctions, which are not.
//!
//! A formula whose predicates all look at the same low bits of `x` is a step function of these
//! bits, however many conjunctions it is written with, and one key answers it. Shares have to be
//! multiplied only where formulas combine different low bits, or differ between pieces.

use std::collections::{BTreeSet, HashMap};

use core_types::Ring;

use super::{BoolExpr, Pred, SufDesc};

/// A Boolean step function of the low `bits` bits of `x`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StepFunction {
    pub(crate) bits: u32,
    /// The value at 0.
    pub(crate) initial: bool,
    /// Where the value changes: ascending, above 0.
    pub(crate) toggles: Vec<u64>,
}

impl StepFunction {
    /// The step function `value`, which changes only at `candidates`.
    fn of(bits: u32, candidates: &BTreeSet<u64>, value: impl Fn(u64) -> bool) -> Self {
        let initial = value(0);
        let mut last = initial;
        let changes = |&at: &u64| {
            let here = value(at);
            at > 0 && core::mem::replace(&mut last, here) != here
        };
        Self { bits, initial, toggles: candidates.iter().copied().filter(changes).collect() }
    }

    /// The same function of `x mod 2^k`, for an `x` that is a signed integer of `k` bits.
    ///
    /// `bits` is the whole ring.
    fn narrowed(self, k: u32) -> Self {
        let toggles = self.toggles.iter().map(|&toggle| narrow(self.bits, k, toggle));
        let mut kept: Vec<u64> = Vec::new();
        for toggle in toggles {
            // what changes twice between the values that occur does not change
            if kept.last() == Some(&toggle) {
                kept.pop();
            } else {
                kept.push(toggle);
            }
        }
        Self { bits: k, initial: self.initial, toggles: kept }
    }

    /// `1[x >= start]`; 1 for the start of the ring.
    pub(crate) fn from(bits: u32, start: u64) -> Self {
        Self::of(bits, &BTreeSet::from([start]), |x| x >= start)
    }
}

/// A node of the computation on shares.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum BooleanNode {
    /// The step function of this position.
    Step(usize),
    /// The sum of earlier values, and 1 if `flip`.
    Xor { terms: Vec<usize>, flip: bool },
    /// The product of two earlier values.
    And { left: usize, right: usize },
}

/// The computation of all output bits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct BoolPlan {
    pub(crate) steps: Vec<StepFunction>,
    pub(crate) values: Vec<BooleanNode>,
    /// The value of each output bit.
    pub(crate) outputs: Vec<usize>,
    /// The conjunctions of each round.
    pub(crate) rounds: Vec<Vec<usize>>,
}

impl BoolPlan {
    /// Plans the output bits of `desc` for an `x` that is a signed integer of `k` bits.
    pub(crate) fn new(desc: &SufDesc, k: u32) -> Self {
        let mut builder =
            Builder { desc, k, plan: Self::default(), known: vec![], steps: HashMap::new(), values: HashMap::new() };
        for bit in 0..desc.bools().len() {
            let value = builder.output(bit);
            builder.plan.outputs.push(value);
        }
        builder.plan
    }

    /// Number of conjunctions.
    pub(crate) fn ands(&self) -> usize {
        self.rounds.iter().map(Vec::len).sum()
    }

    /// The step function that each output bit is, if it is one.
    pub(crate) fn output_steps(&self) -> impl Iterator<Item = Option<&StepFunction>> {
        self.outputs.iter().map(|&output| match self.values[output] {
            BooleanNode::Step(step) => Some(&self.steps[step]),
            _ => None,
        })
    }

    /// The position of a step function, shared with the outputs that use it.
    pub(crate) fn step(&mut self, step: StepFunction) -> usize {
        self.steps.iter().position(|known| *known == step).unwrap_or_else(|| {
            self.steps.push(step);
            self.steps.len() - 1
        })
    }
}

/// A plan in the making.
///
/// Equal steps and values are found again at once, so the work stays in proportion to the
/// descriptor, even a hostile one.
struct Builder<'a> {
    desc: &'a SufDesc,
    /// Bits that hold every input.
    k: u32,
    plan: BoolPlan,
    /// Round after which a value is known.
    known: Vec<usize>,
    steps: HashMap<StepFunction, usize>,
    values: HashMap<BooleanNode, usize>,
}

impl Builder<'_> {
    fn output(&mut self, bit: usize) -> usize {
        let desc = self.desc;
        let n = desc.ring().bits();
        let mut runs: Vec<(u64, &BoolExpr)> = Vec::new();
        for piece in desc.pieces() {
            let formula = &piece.bools[bit];
            if runs.last().is_none_or(|&(_, last)| last != formula) {
                runs.push((piece.start, formula));
            }
        }
        let widths: BTreeSet<u32> = runs.iter().flat_map(|(_, formula)| widths(desc, formula)).collect();
        let (_, first) = runs[0]; // there is at least one piece
        if runs.len() > 1 && widths.iter().all(|&bits| bits == n) {
            let starts = runs.iter().map(|&(start, _)| start);
            let candidates = runs.iter().flat_map(|(_, formula)| candidates(desc, formula)).chain(starts).collect();
            return self.step(StepFunction::of(n, &candidates, |x| desc.eval(x).bools[bit]));
        }
        // B = B_0 + sum 1[x >= start_i] (B_i + B_(i-1)): shares of the formulas differ only where they have to
        let mut terms = vec![self.formula(first)];
        for pair in runs.windows(2) {
            let inside = self.step(StepFunction::from(n, pair[1].0));
            let change = self.formula(&(pair[0].1.clone() ^ pair[1].1.clone()));
            terms.push(self.and(inside, change));
        }
        self.xor(terms, false)
    }

    fn formula(&mut self, formula: &BoolExpr) -> usize {
        let desc = self.desc;
        let widths = widths(desc, formula);
        if widths.len() <= 1 {
            let bits = widths.first().copied().unwrap_or(desc.ring().bits());
            return self.step(StepFunction::of(bits, &candidates(desc, formula), |x| {
                let preds: Vec<bool> = desc.preds().iter().map(|pred| pred.holds(desc.ring(), x)).collect();
                formula.eval(&preds)
            }));
        }
        match formula {
            BoolExpr::Not(a) => {
                let a = self.formula(a);
                self.xor(vec![a], true)
            }
            BoolExpr::And(a, b) => {
                let (a, b) = (self.formula(a), self.formula(b));
                self.and(a, b)
            }
            BoolExpr::Or(a, b) => {
                // a or b = a + b + ab
                let (a, b) = (self.formula(a), self.formula(b));
                let both = self.and(a, b);
                self.xor(vec![a, b, both], false)
            }
            BoolExpr::Xor(a, b) => {
                let terms = vec![self.formula(a), self.formula(b)];
                self.xor(terms, false)
            }
            BoolExpr::Const(_) | BoolExpr::Var(_) => unreachable!("an atom looks at one width at most"),
        }
    }

    fn step(&mut self, step: StepFunction) -> usize {
        let step = if step.bits == self.desc.ring().bits() { step.narrowed(self.k) } else { step };
        let steps = &mut self.plan.steps;
        let at = *self.steps.entry(step).or_insert_with_key(|step| {
            steps.push(step.clone());
            steps.len() - 1
        });
        self.add(BooleanNode::Step(at), 0)
    }

    fn xor(&mut self, terms: Vec<usize>, flip: bool) -> usize {
        match terms[..] {
            [only] if !flip => only,
            _ => {
                let known = terms.iter().map(|&term| self.known[term]).max().unwrap_or_default();
                self.add(BooleanNode::Xor { terms, flip }, known)
            }
        }
    }

    fn and(&mut self, left: usize, right: usize) -> usize {
        let round = self.known[left].max(self.known[right]);
        let (before, value) = (self.known.len(), self.add(BooleanNode::And { left, right }, round + 1));
        if value == before {
            if self.plan.rounds.len() == round {
                self.plan.rounds.push(Vec::new());
            }
            self.plan.rounds[round].push(value);
        }
        value
    }

    /// The position of a value; `known` is the round after which it is known.
    fn add(&mut self, value: BooleanNode, known: usize) -> usize {
        let (values, rounds) = (&mut self.plan.values, &mut self.known);
        *self.values.entry(value).or_insert_with_key(|value| {
            values.push(value.clone());
            rounds.push(known);
            values.len() - 1
        })
    }
}

/// The position of `start` among the signed integers of `k` bits, taken modulo `2^k`.
///
/// If `start` is not one of them, the position is between the two halves.
pub(crate) fn narrow(n: u32, k: u32, start: u64) -> u64 {
    let half = 1u64 << (k - 1);
    let mask = u64::MAX >> (64 - k);
    let negative = (u64::MAX >> (64 - n)) - (half - 1);
    if start > negative { start & mask } else { start.min(half) }
}

/// The predicates that a formula names.
fn named<'a>(desc: &'a SufDesc, formula: &BoolExpr) -> Vec<&'a Pred> {
    let mut all = Vec::new();
    let visited: Result<(), core::convert::Infallible> = formula.walk(|node, _| {
        if let BoolExpr::Var(index) = node {
            all.push(&desc.preds()[*index]); // a checked formula names predicates that exist
        }
        Ok(())
    });
    let Ok(()) = visited;
    all
}

/// Numbers of low bits that the predicates of a formula look at.
fn widths(desc: &SufDesc, formula: &BoolExpr) -> BTreeSet<u32> {
    let width = |pred: &Pred| match *pred {
        Pred::LtLow { f, .. } => f,
        Pred::Lt { .. } | Pred::Msb | Pred::MsbAdd { .. } => desc.ring().bits(),
    };
    named(desc, formula).into_iter().map(width).collect()
}

/// Where a formula may change its value.
fn candidates(desc: &SufDesc, formula: &BoolExpr) -> BTreeSet<u64> {
    let ring = desc.ring();
    let half = |ring: Ring| 1u64 << (ring.bits() - 1);
    let changes = |pred: &Pred| match *pred {
        Pred::Lt { beta } => [beta, beta],
        Pred::LtLow { gamma, .. } => [gamma, gamma],
        Pred::Msb => [half(ring), 0],
        Pred::MsbAdd { c } => [ring.sub(half(ring), c), ring.neg(c)],
    };
    named(desc, formula).into_iter().flat_map(changes).collect()
}
