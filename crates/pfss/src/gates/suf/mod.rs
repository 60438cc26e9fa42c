//! Functions given by descriptors, evaluated in steps; some steps wait for opened bits.

mod coeffs;
mod machine;
mod plan;

use core::fmt;
use std::sync::Arc;

use super::{
    shares::{bits::BitShares, pending::Pending},
    tasks::evaluation::GateEvaluation,
    walk::inputs::reduced,
};
use crate::{Evaluator, GateKind, MaskedKeys, PfssError, gate::kinds::suf::Suf};
pub(crate) use coeffs::most_word_terms;
use machine::Machine;
pub(crate) use plan::SufPlan;

/// Descriptors have no task: a [`SufPlan`] evaluates them.
impl GateEvaluation for Suf {}

impl SufPlan {
    /// The first step of the descriptor that this plan is for: all work on key trees.
    ///
    /// There is a masked input for each element.
    pub(crate) fn eval<W: Evaluator>(
        self: &Arc<Self>,
        evaluator: &W,
        MaskedKeys(bundle): MaskedKeys,
        x_hat: Vec<u64>,
    ) -> Result<SufStep, PfssError> {
        let x_hat = reduced(bundle.gate().ring(), x_hat);
        Ok(Machine::start(evaluator, Arc::clone(self), bundle, x_hat)?.step())
    }
}

/// A party's shares of a descriptor's outputs.
pub struct SufShares {
    /// Additive shares of the output words, `[elements][words]`.
    ///
    /// For a gate with [masked outputs](crate::Gate::with_masked_outputs), they are shares of each
    /// word plus its mask.
    pub words: Vec<u64>,
    /// Shares of the output bits.
    pub bools: SufBools,
}

/// Shares of output bits, in the form that the program asks for.
pub enum SufBools {
    /// XOR shares, one row for each bit.
    Xor(BitShares),
    /// Additive shares of 0 or 1, `[elements][bits]`.
    Additive(Vec<u64>),
}

/// A descriptor's evaluation between two exchanges.
pub enum SufStep {
    /// Bits have to be opened; [`Pending::finish`] gives the next step.
    Open(Pending<SufStep>),
    /// All is computed.
    Done(SufShares),
}

impl MaskedKeys {
    /// The first step of a descriptor's evaluation from the masked inputs `x_hat`.
    ///
    /// It has all work on key trees. [`SufProgram::rounds`](crate::suf::SufProgram::rounds) gives
    /// the number of openings, and the bits in each.
    ///
    /// # Errors
    /// As [`eval_relu`](Self::eval_relu).
    pub fn eval_suf<Q: Evaluator>(self, q: &Q, x_hat: &[u64]) -> Result<SufStep, PfssError> {
        self.0.check_use(GateKind::Suf, x_hat.len())?;
        Arc::new(SufPlan::new(self.gate())?).eval(q, self, x_hat.to_vec())
    }
}

impl fmt::Debug for SufShares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SufShares").field("words", &self.words.len()).field("bools", &self.bools).finish()
    }
}

impl fmt::Debug for SufBools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Xor(bits) => f.debug_tuple("Xor").field(bits).finish(),
            Self::Additive(words) => write!(f, "Additive({})", words.len()),
        }
    }
}

impl fmt::Debug for SufStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(pending) => f.debug_tuple("Open").field(pending).finish(),
            Self::Done(shares) => f.debug_tuple("Done").field(shares).finish(),
        }
    }
}
