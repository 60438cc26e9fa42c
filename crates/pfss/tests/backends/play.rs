//! One party's evaluation of any gate, opening by opening.

use backend_api::ops::fss::FssOps;
use pfss::{GateKind, Interval, KeyBundle, Predicate, SignedRange, Step, Task};

use crate::common::flat;

/// What gates are asked besides their keys; each reads what concerns it.
pub(crate) struct Questions {
    pub(crate) predicates: Vec<Predicate>,
    pub(crate) intervals: Vec<Interval>,
    pub(crate) table: Vec<u64>,
    /// Holds the inputs of a ReLU.
    pub(crate) range: SignedRange,
}

/// A gate before an opening or at its end.
pub(crate) struct Turn(Step);

impl Questions {
    /// The first turn of any gate on the masked inputs, or factors, `x_hat`.
    pub(crate) fn start<Q: FssOps>(&self, q: &Q, bundle: KeyBundle, x_hat: &[u64]) -> Turn {
        let keys = bundle.with_open_inputs().unwrap();
        let task = match keys.gate().kind() {
            GateKind::FullPredicates | GateKind::SignPredicates | GateKind::LowPredicates => {
                Task::Predicates(&self.predicates)
            }
            GateKind::Relu => Task::ReluWithin(self.range),
            GateKind::TruncateReduce => Task::TruncateReduce,
            GateKind::GapArs => Task::GapArs(SignedRange::new(-1, 1).unwrap().gap_cert(keys.gate().n()).unwrap()),
            GateKind::Lrs => Task::Lrs,
            GateKind::Ars => Task::Ars,
            GateKind::ReluArs => Task::ReluArs,
            GateKind::Lut => Task::Lut(&self.table),
            GateKind::IntervalPowers => Task::IntervalPowers(&self.intervals),
            GateKind::Product => Task::Product,
            GateKind::Suf => Task::Suf,
            other => panic!("no evaluation of {other}"),
        };
        Turn(keys.eval(q, task, x_hat).unwrap())
    }
}

impl Turn {
    /// This party's masked bits and words; none at the end.
    pub(crate) fn opening(&self) -> Option<(Vec<u32>, Vec<u64>)> {
        match &self.0 {
            Step::Open(pending) => Some((pending.masked_bits().to_vec(), pending.masked_words().to_vec())),
            Step::Done(_) => None,
        }
    }

    /// The next turn, from the peer's part of the opening.
    pub(crate) fn absorb<Q: FssOps>(self, q: &Q, bits: &[u32], words: &[u64]) -> Self {
        match self.0 {
            Step::Open(pending) => Self(pending.finish_with(q, bits, words).unwrap()),
            done => Self(done),
        }
    }

    /// The party's shares: words, then bits.
    pub(crate) fn into_shares(self) -> Vec<u64> {
        match self.0 {
            Step::Done(shares) => flat(&shares),
            Step::Open(_) => panic!("not at the end"),
        }
    }
}
