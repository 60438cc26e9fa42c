//! The computation that uses the keys of a gate, and its public facts.

use crate::{GapCert, GateKind, Interval, Predicate, SignedRange};

/// The computation of a gate, and the public facts it needs besides its keys.
///
/// [`Session::run`](crate::Session::run) runs it for one party,
/// [`run_lockstep`](crate::run_lockstep) for both parties in one process, and a
/// [`SuperBatch`](crate::batch::SuperBatch) together with others. The result is
/// [`Shares`](crate::Shares): additive shares of a word for each element, unless said otherwise.
///
/// Keys that do not fit are refused: [`Kind`](crate::PfssError::Kind) for keys of another gate,
/// [`CertWidth`](crate::PfssError::CertWidth) for a certificate of another ring,
/// [`Range`](crate::PfssError::Range) for keys of fewer bits than the range needs,
/// [`Length`](crate::PfssError::Length) for another number of inputs, masks or words of a table,
/// [`PredicateKind`](crate::PfssError::PredicateKind), [`Constant`](crate::PfssError::Constant) and
/// [`EmptyInterval`](crate::PfssError::EmptyInterval) for predicates, intervals and tables that the
/// keys do not answer.
///
/// A task has no ring: inputs are shared in the ring of the keys.
/// [`Session::run_in`](crate::Session::run_in), [`Session::eval_in`](crate::Session::eval_in) and
/// [`Job::in_ring`](crate::batch::Job::in_ring) refuse keys of another ring.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Task<'a> {
    /// `max(x, 0)`; keys of [`Gate::relu`](crate::Gate::relu).
    Relu,
    /// `max(x, 0)` for inputs in a proven range.
    ///
    /// The keys are for [`Gate::relu_within`](crate::Gate::relu_within) with enough bits to hold
    /// the range.
    ReluWithin(SignedRange),
    /// `|x|`; keys of [`Gate::relu`](crate::Gate::relu).
    Abs,
    /// `floor(x / 2^f)` in a ring of `n - f` bits.
    ///
    /// The keys are for [`Gate::truncate_reduce`](crate::Gate::truncate_reduce).
    TruncateReduce,
    /// Signed `floor(x / 2^f)` under a proven bound.
    ///
    /// The keys are for [`Gate::gap_ars`](crate::Gate::gap_ars).
    GapArs(GapCert),
    /// Unsigned `floor(x / 2^f)`; keys of [`Gate::lrs`](crate::Gate::lrs).
    Lrs,
    /// Signed `floor(x / 2^f)`; keys of [`Gate::ars`](crate::Gate::ars).
    Ars,
    /// `floor(max(x, 0) / 2^f)`; keys of [`Gate::relu_ars`](crate::Gate::relu_ars).
    ReluArs,
    /// `table[x]` for a public table; keys of [`Gate::lut`](crate::Gate::lut).
    Lut(&'a [u64]),
    /// Predicates as 0 or 1, `[predicates][count]`.
    ///
    /// The keys are for predicates, with one mask for each
    /// ([`Gate::with_masks`](crate::Gate::with_masks)).
    Predicates(&'a [Predicate]),
    /// XOR shares of predicates, one row for each; keys for predicates.
    ///
    /// There is no round after the inputs are open.
    PredicateBits(&'a [Predicate]),
    /// `1[x in I] (-r)^j` for every interval `I` and power `0 <= j <= degree`.
    ///
    /// The keys are for [`Gate::interval_powers`](crate::Gate::interval_powers). The shares are
    /// `[intervals][degree + 1][count]`; with the opened `x + r`, a polynomial of `x` on each
    /// interval is public arithmetic. There is no round after the inputs are open.
    IntervalPowers(&'a [Interval]),
    /// The product of two secrets; keys of [`Gate::product`](crate::Gate::product).
    ///
    /// The inputs are all first factors, followed by all second ones. There is no round after they
    /// are open.
    Product,
    /// The words and bits of a descriptor; keys of [`Gate::suf`](crate::Gate::suf).
    ///
    /// [`SufProgram::rounds`](crate::suf::SufProgram::rounds) gives the rounds after the inputs are
    /// open.
    Suf,
}

impl Task<'_> {
    /// The kind of keys that the task needs, and the public facts of the task.
    ///
    /// Both parties must agree on the facts in addition to gate, count and nonce.
    /// [`GateKind::FullPredicates`] stands for all predicates: the keys determine the kind of
    /// predicates.
    pub(crate) fn describe(&self) -> (GateKind, Vec<u64>) {
        let range = |range: SignedRange| vec![range.min().cast_unsigned(), range.max().cast_unsigned()];
        match self {
            Self::Relu => (GateKind::Relu, Vec::new()),
            Self::ReluWithin(proven) => (GateKind::Relu, range(*proven)),
            Self::Abs => (GateKind::Relu, vec![1]),
            Self::TruncateReduce => (GateKind::TruncateReduce, Vec::new()),
            Self::GapArs(cert) => (GateKind::GapArs, range(cert.range())),
            Self::Lrs => (GateKind::Lrs, Vec::new()),
            Self::Ars => (GateKind::Ars, Vec::new()),
            Self::ReluArs => (GateKind::ReluArs, Vec::new()),
            Self::Lut(table) => (GateKind::Lut, table.to_vec()),
            Self::Predicates(predicates) | Self::PredicateBits(predicates) => {
                (GateKind::FullPredicates, predicates.iter().flat_map(|predicate| predicate.facts()).collect())
            }
            Self::IntervalPowers(intervals) => {
                (GateKind::IntervalPowers, intervals.iter().flat_map(|interval| interval.facts()).collect())
            }
            Self::Product => (GateKind::Product, Vec::new()),
            Self::Suf => (GateKind::Suf, Vec::new()),
        }
    }

    /// The public facts that both parties must agree on besides gate, count and nonce.
    ///
    /// With the gate they say which task it is, except whether predicates become additive shares or
    /// XOR shares: then the parties' messages have other lengths.
    pub(crate) fn facts(&self) -> Vec<u64> {
        self.describe().1
    }

    /// The range that every input is proven to lie in, if the task asks for a proof.
    pub(crate) fn proven(&self) -> Option<SignedRange> {
        match self {
            Self::ReluWithin(range) => Some(*range),
            Self::GapArs(cert) => Some(cert.range()),
            _ => None,
        }
    }
}
