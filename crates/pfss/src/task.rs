//! The computation that uses the keys of a gate, and its public facts.

use crate::{GapCert, GateKind, Predicate, SignedRange};

/// A gate with additive shares as its result, and the public facts it needs besides its keys.
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
    /// Predicates as 0 or 1, `[predicates][count]`; predicate keys with one mask per predicate.
    Predicates(&'a [Predicate]),
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
            Self::Predicates(predicates) => {
                (GateKind::FullPredicates, predicates.iter().flat_map(|predicate| predicate.facts()).collect())
            }
        }
    }

    /// The public facts that both parties must agree on besides gate, count and nonce.
    ///
    /// With the gate they say which task it is.
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
