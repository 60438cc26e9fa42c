//! Functions given by descriptors, evaluated in steps; some steps wait for opened bits.

mod coeffs;
mod machine;
mod plan;

use std::sync::Arc;

use super::{shares::pending::Step, walk::evaluator::Evaluator};
use crate::{KeyBundle, PfssError};
pub(crate) use coeffs::most_word_terms;
use machine::Machine;
pub(crate) use plan::SufPlan;

impl SufPlan {
    /// The first step of the descriptor that this plan is for: all work on key trees.
    ///
    /// There is a masked input for each element.
    /// [`SufProgram::rounds`](crate::suf::SufProgram::rounds) gives the number of openings, and the
    /// bits in each.
    pub(in crate::gates) fn eval<W: Evaluator>(
        self: &Arc<Self>,
        evaluator: &W,
        bundle: KeyBundle,
        x_hat: Vec<u64>,
    ) -> Result<Step, PfssError> {
        Ok(Machine::start(evaluator, Arc::clone(self), bundle, x_hat)?.step())
    }
}
