//! Functions given by descriptors, evaluated in steps; some steps wait for opened bits.

mod coeffs;
mod machine;
mod plan;

use std::sync::Arc;

use backend_api::{BufferRef as _, ops::fss::FssOps};

use super::{
    shares::pending::{DeviceStep, Step},
    walk::{evaluator::Evaluator, tree::Trees},
};
use crate::{KeyBundle, PfssError};
pub(crate) use coeffs::most_word_terms;
use machine::Machine;
pub(crate) use plan::SufPlan;
use plan::WordsPlan;

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

    /// [`eval`](Self::eval) with the words left in device memory.
    ///
    /// # Errors
    /// [`PfssError::NotOnDevice`] for a descriptor with
    /// [other results](crate::suf::SufProgram::off_device).
    pub(in crate::gates) fn eval_on_device<'q, Q: FssOps>(
        self: &Arc<Self>,
        q: &'q Q,
        bundle: KeyBundle,
        x_hat: Vec<u64>,
    ) -> Result<DeviceStep<'q, Q>, PfssError> {
        if let Some(got) = self.program.off_device() {
            return Err(PfssError::NotOnDevice { got });
        }
        if self.selected.is_some() {
            return Ok(DeviceStep::Open(Machine::start(q, Arc::clone(self), bundle, x_hat)?.pending()));
        }
        // Without selectors and output bits, all trees are the payload key.
        let trees = Trees::at(q, &bundle, &x_hat, self.points(), self.lists(), self.sums_words())?;
        let payload = self.payload.as_ref().map(|points| trees.words(0, points)).transpose()?;
        let words = match (&self.words, &payload) {
            (WordsPlan::Payload(sums), Some(payload)) => sums.sums_with(q, &trees, payload.view())?,
            (WordsPlan::OnePiece(sums), _) => sums.sums_with(q, &trees, trees.x_hat()?.slice(0..0)?)?,
            _ => unreachable!("words without an exchange, from one key"),
        };
        Ok(DeviceStep::Done(words))
    }
}
