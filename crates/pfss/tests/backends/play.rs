//! One party's evaluation of any gate, opening by opening.

use backend_api::ops::fss::FssOps;
use pfss::{GateKind, Interval, KeyBundle, Pending, Predicate, SignedRange, SufBools, SufShares, SufStep};

/// What gates are asked besides their keys; each reads what concerns it.
pub(crate) struct Questions {
    pub(crate) predicates: Vec<Predicate>,
    pub(crate) intervals: Vec<Interval>,
    pub(crate) table: Vec<u64>,
    /// Holds the inputs of a ReLU.
    pub(crate) range: SignedRange,
}

/// A gate before an opening or at its end.
pub(crate) enum Turn {
    Words(Pending),
    Suf(SufStep),
    Done(Vec<u64>),
}

impl Questions {
    /// The first turn of any gate on the masked inputs, or factors, `x_hat`.
    pub(crate) fn start<Q: FssOps>(&self, q: &Q, bundle: KeyBundle, x_hat: &[u64]) -> Turn {
        let keys = bundle.with_open_inputs().unwrap();
        let pending = match keys.gate().kind() {
            GateKind::FullPredicates | GateKind::SignPredicates | GateKind::LowPredicates => {
                keys.eval_predicates_additive(q, &self.predicates, x_hat)
            }
            GateKind::Relu => keys.eval_relu_within(q, self.range, x_hat),
            GateKind::TruncateReduce => keys.eval_truncate_reduce(q, x_hat),
            GateKind::GapArs => {
                let cert = SignedRange::new(-1, 1).unwrap().gap_cert(keys.gate().n()).unwrap();
                keys.eval_gap_ars(q, &cert, x_hat)
            }
            GateKind::Lrs => keys.eval_lrs(q, x_hat),
            GateKind::Ars => keys.eval_ars(q, x_hat),
            GateKind::ReluArs => keys.eval_relu_ars(q, x_hat),
            GateKind::Lut => keys.eval_lut(q, &self.table, x_hat),
            GateKind::IntervalPowers => {
                return Turn::Done(keys.eval_interval_powers(q, &self.intervals, x_hat).unwrap());
            }
            GateKind::Product => return Turn::Done(keys.eval_product(x_hat).unwrap()),
            GateKind::Suf => return Turn::of_suf(keys.eval_suf(q, x_hat).unwrap()),
            other => panic!("no evaluation of {other}"),
        };
        Turn::Words(pending.unwrap())
    }
}

impl Turn {
    fn of_suf(step: SufStep) -> Self {
        match step {
            SufStep::Done(shares) => Self::Done(flat(shares)),
            open => Self::Suf(open),
        }
    }

    /// This party's masked bits and words; none at the end.
    pub(crate) fn opening(&self) -> Option<(Vec<u32>, Vec<u64>)> {
        match self {
            Self::Words(pending) => Some((pending.masked_bits().to_vec(), pending.masked_words().to_vec())),
            Self::Suf(SufStep::Open(pending)) => Some((pending.masked_bits().to_vec(), vec![])),
            Self::Suf(SufStep::Done(_)) | Self::Done(_) => None,
        }
    }

    /// The next turn, from the peer's part of the opening.
    pub(crate) fn absorb<Q: FssOps>(self, q: &Q, bits: &[u32], words: &[u64]) -> Self {
        match self {
            Self::Words(pending) => Self::Done(pending.finish_with(q, bits, words).unwrap()),
            Self::Suf(SufStep::Open(pending)) => Self::of_suf(pending.finish(q, bits).unwrap()),
            done => done,
        }
    }

    /// The party's shares: words, then bits.
    pub(crate) fn into_shares(self) -> Vec<u64> {
        match self {
            Self::Done(shares) => shares,
            Self::Words(_) | Self::Suf(_) => panic!("not at the end"),
        }
    }
}

fn flat(shares: SufShares) -> Vec<u64> {
    let mut out = shares.words;
    match shares.bools {
        SufBools::Additive(words) => out.extend(words),
        SufBools::Xor(bits) => out.extend(bits.words().iter().map(|&bits| u64::from(bits))),
    }
    out
}
