//! The exponentials of a softmax: a spline, or a table of lines.

use super::EXP_BITS;
use crate::{
    Gate, PfssError, SignedRange,
    functions::{FixedFn, FixedGates, TableFn, TableGates, softmax_exp},
    suf::SufModes,
};

/// `exp(-t)` and the gates that evaluate it, `t` with 12 fraction bits, the result with 24.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Exponential {
    /// A spline.
    Spline(FixedFn, FixedGates),
    /// A table of lines.
    Table(TableFn, TableGates),
}

impl Exponential {
    /// The spline on a proven range of distances.
    pub(super) fn spline(distances: SignedRange, modes: SufModes) -> Result<Self, PfssError> {
        let function = softmax_exp(EXP_BITS)?;
        let gates = function.gates_within(modes, distances)?;
        Ok(Self::Spline(function, gates))
    }

    /// The table on a proven range of distances.
    pub(super) fn table(distances: SignedRange) -> Result<Self, PfssError> {
        let function = TableFn::softmax_exp(EXP_BITS)?;
        let gates = function.gates_within(distances)?;
        Ok(Self::Table(function, gates))
    }

    /// The function in the clear.
    pub(super) fn eval(&self, t: i64) -> i64 {
        match self {
            Self::Spline(function, _) => function.eval(t),
            Self::Table(function, _) => function.eval(t),
        }
    }

    /// A proven range of the results.
    pub(super) fn results(&self) -> Result<SignedRange, PfssError> {
        Ok(match self {
            Self::Spline(function, _) => function.outputs_within(function.inputs())?.floor_shift(function.shift())?,
            Self::Table(function, _) => function.outputs_within(function.inputs())?.floor_shift(function.shift())?,
        })
    }

    /// Number of low bits of `t` that the gates read.
    ///
    /// Shares of `t` modulo 2 to this power are enough.
    pub(super) fn input_bits(&self) -> u32 {
        match self {
            Self::Spline(_, gates) => gates.suf.n(),
            Self::Table(_, gates) => gates.input_bits(),
        }
    }

    /// The gates that need keys, in the order in which they run.
    pub(super) fn gates(&self) -> Vec<&Gate> {
        match self {
            Self::Spline(_, gates) => gates.gates().collect(),
            Self::Table(_, gates) => gates.gates().into(),
        }
    }

    /// Bytes that each party sends for `count` elements, step digests included, and rounds.
    pub(super) fn traffic(&self, count: usize) -> (u64, u64) {
        match self {
            Self::Spline(_, gates) => gates.traffic(count),
            Self::Table(_, gates) => gates.traffic(count),
        }
    }
}
