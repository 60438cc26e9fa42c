use crate::{
    GapCert, GateKind, KeyBundle, MaskedKeys, PfssError, Predicate, SignedRange, Walk, gates::Pending,
    predicate::Program,
};

/// A gate with additive shares as its result, and the public facts it needs besides its keys.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Task<'a> {
    /// `max(x, 0)`; keys of [`Gate::relu`](crate::Gate::relu).
    Relu,
    /// `max(x, 0)` for inputs in a proven range; keys of [`Gate::relu_within`](crate::Gate::relu_within) bits that
    /// hold it.
    ReluWithin(SignedRange),
    /// `|x|`; keys of [`Gate::relu`](crate::Gate::relu).
    Abs,
    /// `floor(x / 2^f)` in a ring of `n - f` bits; keys of [`Gate::truncate_reduce`](crate::Gate::truncate_reduce).
    TruncateReduce,
    /// Signed `floor(x / 2^f)` under a proven bound; keys of [`Gate::gap_ars`](crate::Gate::gap_ars).
    GapArs(GapCert),
    /// Unsigned `floor(x / 2^f)`; keys of [`Gate::lrs`](crate::Gate::lrs).
    Lrs,
    /// Signed `floor(x / 2^f)`; keys of [`Gate::ars`](crate::Gate::ars).
    Ars,
    /// `floor(max(x, 0) / 2^f)`; keys of [`Gate::relu_ars`](crate::Gate::relu_ars).
    ReluArs,
    /// `table[x]` for a public table; keys of [`Gate::lut`](crate::Gate::lut).
    Lut(&'a [u64]),
    /// Predicates as 0 or 1, `[predicates][count]`; predicate keys with as many masks.
    Predicates(&'a [Predicate]),
}

impl Task<'_> {
    /// Everything that can be refused before a message is sent.
    pub(crate) fn check(&self, bundle: &KeyBundle, count: usize) -> Result<(), PfssError> {
        let gate = bundle.gate();
        match self {
            Self::Relu | Self::Abs => {
                bundle.check_use(GateKind::Relu, count)?;
                bundle.check_sign(SignedRange::of_bits(gate.n()))
            }
            Self::ReluWithin(range) => {
                bundle.check_use(GateKind::Relu, count)?;
                bundle.check_sign(*range)
            }
            Self::TruncateReduce => bundle.check_use(GateKind::TruncateReduce, count),
            Self::Lut(table) => {
                bundle.check_use(GateKind::Lut, count)?;
                gate.check_table(table)
            }
            Self::Lrs => bundle.check_use(GateKind::Lrs, count),
            Self::Ars => bundle.check_use(GateKind::Ars, count),
            Self::ReluArs => bundle.check_use(GateKind::ReluArs, count),
            Self::GapArs(cert) => {
                bundle.check_use(GateKind::GapArs, count)?;
                bundle.check_cert(cert)
            }
            Self::Predicates(predicates) => {
                bundle.check_use(gate.kind(), count)?;
                bundle.check_masks(predicates)?;
                Program::new(gate, predicates).map(|_| ())
            }
        }
    }

    /// The first step of the gate.
    pub(crate) fn eval<Q: Walk>(&self, q: &Q, keys: MaskedKeys, x_hat: &[u64]) -> Result<Pending, PfssError> {
        match self {
            Self::Relu => keys.eval_relu(q, x_hat),
            Self::ReluWithin(range) => keys.eval_relu_within(q, *range, x_hat),
            Self::Abs => keys.eval_abs(q, x_hat),
            Self::TruncateReduce => keys.eval_truncate_reduce(q, x_hat),
            Self::GapArs(cert) => keys.eval_gap_ars(q, cert, x_hat),
            Self::Lut(table) => keys.eval_lut(q, table, x_hat),
            Self::Lrs => keys.eval_lrs(q, x_hat),
            Self::Ars => keys.eval_ars(q, x_hat),
            Self::ReluArs => keys.eval_relu_ars(q, x_hat),
            Self::Predicates(predicates) => keys.eval_predicates_additive(q, predicates, x_hat),
        }
    }

    /// The public facts that both parties must agree on besides gate, count and nonce.
    pub(crate) fn facts(&self) -> Vec<u64> {
        match self {
            Self::Relu | Self::TruncateReduce | Self::Lrs | Self::Ars | Self::ReluArs => Vec::new(),
            Self::ReluWithin(range) => vec![range.min().cast_unsigned(), range.max().cast_unsigned()],
            Self::Abs => vec![1],
            Self::Lut(table) => table.to_vec(),
            Self::GapArs(cert) => vec![cert.range().min().cast_unsigned(), cert.range().max().cast_unsigned()],
            Self::Predicates(predicates) => predicates.iter().flat_map(|predicate| predicate.facts()).collect(),
        }
    }
}
