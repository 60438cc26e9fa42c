//! A proof as one submission.

use core::fmt;

use backend_api::Record;

use crate::{
    Generated, ProofSession, Prover, ProverError, StarkOps, Submitted, plan::shape::TRACE,
    recording::submission::RecordedSubmission,
};

/// The work of a proof from its trace on, as one submission.
///
/// It is recorded at the second proof and replayed from then on. It belongs to the memory of one
/// prover: with another prover, or when a relation needed more memory, it is made anew, and so it
/// is when other words are absorbed, or the trace is made in another way. Proofs do not depend on
/// whether they were replayed.
///
/// While it exists, it keeps the memory of that prover, the source data of the trace, and the
/// workspace of single ops. If the budget has no room for them, the work is submitted op by op.
/// Drop it with its prover.
///
/// A proof whose interaction columns the host makes has a [`ProofGraphPair`](crate::ProofGraphPair)
/// instead.
pub struct ProofGraph<Q: Record> {
    part: RecordedSubmission<Q>,
}

impl<Q: Record> Default for ProofGraph<Q> {
    fn default() -> Self {
        Self { part: RecordedSubmission::default() }
    }
}

impl<Q: StarkOps + Record> ProofGraph<Q> {
    /// Nothing recorded.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether a proof is recorded.
    #[must_use]
    pub const fn is_recorded(&self) -> bool {
        self.part.is_recorded()
    }

    /// Submits a proof of the trace that was [loaded](Prover::load).
    ///
    /// `make` makes it with the session that it is given: it commits to the trace by
    /// [`commit_loaded`](ProofSession::commit_loaded), and does the same each time. If it may do
    /// something else, such as absorb other words or draw another relation, `key` has to identify
    /// it: only a proof with the same `key` is replayed.
    ///
    /// # Errors
    /// [`ProverError::NotLoaded`] without a trace, [`ProverError::InGraph`] if `make` commits to
    /// host columns, and any error of `make` or the device. Nothing is kept then.
    pub fn submit<'p>(
        &mut self,
        prover: &'p mut Prover<Q>,
        q: &'p Q,
        key: &[u32],
        make: impl for<'s> Fn(ProofSession<'s, Q>) -> Result<Submitted<'s, Q>, ProverError>,
    ) -> Result<Submitted<'p, Q>, ProverError> {
        prover.expect_loaded(TRACE)?;
        self.submit_trace(prover, q, key, None, make)
    }

    /// Submits a proof of the trace that `components` make on the device.
    ///
    /// It is [`submit`](Self::submit) with trace generation in the one submission. Only the source
    /// data of the trace is uploaded before.
    ///
    /// # Errors
    /// As [`Prover::load_generated`] and [`submit`](Self::submit).
    pub fn submit_generated<'p>(
        &mut self,
        prover: &'p mut Prover<Q>,
        q: &'p Q,
        key: &[u32],
        components: &[Generated<'_>],
        make: impl for<'s> Fn(ProofSession<'s, Q>) -> Result<Submitted<'s, Q>, ProverError>,
    ) -> Result<Submitted<'p, Q>, ProverError> {
        prover.loaded = None;
        let checked = prover.check_generated(components);
        prover.group.or_end(checked)?;
        self.submit_trace(prover, q, key, Some(components), make)
    }

    /// Submits a proof of the trace that was loaded, or that these components make.
    fn submit_trace<'p>(
        &mut self,
        prover: &'p mut Prover<Q>,
        q: &'p Q,
        key: &[u32],
        components: Option<&[Generated<'_>]>,
        make: impl for<'s> Fn(ProofSession<'s, Q>) -> Result<Submitted<'s, Q>, ProverError>,
    ) -> Result<Submitted<'p, Q>, ProverError> {
        self.part.submit(prover, q, key.to_vec(), components, &|prover, q| {
            make(ProofSession::new(prover, q, true)?).map(drop)
        })?;
        Ok(Submitted { prover, q })
    }
}

impl<Q: Record> fmt::Debug for ProofGraph<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProofGraph").field("state", &self.part).finish()
    }
}
