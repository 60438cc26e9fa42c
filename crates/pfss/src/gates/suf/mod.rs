//! The evaluation of descriptors: an array of steps, some of which wait for opened bits.

mod coeffs;
mod machine;

use core::fmt;

use super::{BitShares, Pending, tree::check_inputs};
use crate::{GateKind, MaskedKeys, PfssError, Walk};
pub(crate) use coeffs::most_word_terms;
use machine::Machine;

/// What a party holds of a descriptor's outputs.
pub struct SufShares {
    /// Additive shares of the output words, `[elements][words]`; of each word and its mask for a gate with
    /// [masked outputs](crate::Gate::with_masked_outputs).
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
    /// The first step of a descriptor's evaluation from the masked inputs `x_hat`: all work on key trees.
    ///
    /// How often bits have to be opened, and how many, is [`SufProgram::rounds`](crate::suf::SufProgram::rounds).
    ///
    /// # Errors
    /// As [`eval_relu`](Self::eval_relu).
    pub fn eval_suf<Q: Walk>(self, q: &Q, x_hat: &[u64]) -> Result<SufStep, PfssError> {
        let Self(bundle) = self;
        bundle.check_use(GateKind::Suf, x_hat.len())?;
        let x_hat = check_inputs(&bundle, x_hat)?;
        Ok(Machine::start(q, bundle, x_hat)?.step())
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
