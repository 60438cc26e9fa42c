//! A proof as one submission.

use core::fmt;
use std::sync::Arc;

use backend_api::{BackendError, Record};

use crate::{Prover, ProverError, Session, StarkOps, Submitted};

/// The work of a proof from its trace on, recorded at the second proof and replayed from then on as one submission.
///
/// It belongs to the memory of one prover: with another prover, or when a relation needed more memory, it is made anew, and
/// so it is when other words are said. Proofs do not depend on whether they were replayed.
///
/// While it is there, it keeps the memory of that prover, and the little that single ops need. Where the budget has no room for
/// that, the work is submitted op by op. Drop it with its prover.
pub struct ProofGraph<Q: Record> {
    /// What it is the graph of.
    of: Option<(Arc<()>, Vec<u32>)>,
    state: State<Q::Graph>,
}

enum State<G> {
    /// Nothing is recorded yet.
    New,
    Recorded(G),
    /// The device does not record it, or memory is short for it.
    Refused,
}

impl<Q: Record> Default for ProofGraph<Q> {
    fn default() -> Self {
        Self { of: None, state: State::New }
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
        matches!(self.state, State::Recorded(_))
    }

    /// Submits a proof of the trace that was [loaded](Prover::load). `make` makes it with the session that it is given: it
    /// commits to the trace by [`commit_loaded`](Session::commit_loaded), and does the same each time. Where it may do something else, as
    /// say other words or draw another relation, `said` has to tell what: only a proof with the same `said` is replayed.
    ///
    /// # Errors
    /// [`ProverError::NotLoaded`] without a trace, [`ProverError::InGraph`] if `make` commits to columns of the host, and what `make`
    /// fails with or the device reports; nothing is kept then.
    pub fn submit<'p>(
        &mut self,
        prover: &'p mut Prover<Q>,
        q: &'p Q,
        said: &[u32],
        make: impl for<'s> Fn(Session<'s, Q>) -> Result<Submitted<'s, Q>, ProverError>,
    ) -> Result<Submitted<'p, Q>, ProverError> {
        if !prover.loaded {
            return Err(ProverError::NotLoaded);
        }
        let known = self
            .of
            .take()
            .is_some_and(|(memory, known)| Arc::ptr_eq(&memory, &prover.memory.identity) && known == said);
        // What fails below leaves nothing.
        let state = core::mem::replace(&mut self.state, State::New);
        let state = match state {
            // What passes through the host is not recorded.
            State::New if known && prover.shape.place.is_alone() && prover.host.is_none() => {
                Self::record(prover, q, &make)?
            }
            state if known => state,
            _ => State::New,
        };
        let state = match state {
            State::Recorded(graph) => match q.replay(&graph) {
                Err(error) if is_shortage(&error) => State::Refused,
                replayed => {
                    replayed?;
                    prover.loaded = false;
                    State::Recorded(graph)
                }
            },
            state => state,
        };
        if !matches!(state, State::Recorded(_)) {
            make(Session::new(prover, q, true)?)?;
        }
        *self = Self { of: Some((Arc::clone(&prover.memory.identity), said.to_vec())), state };
        Ok(Submitted { prover, q })
    }

    fn record(
        prover: &mut Prover<Q>,
        q: &Q,
        make: impl for<'s> Fn(Session<'s, Q>) -> Result<Submitted<'s, Q>, ProverError>,
    ) -> Result<State<Q::Graph>, ProverError> {
        let recorded = q.record(|q| make(Session::new(prover, q, true)?).map(drop));
        // Nothing has run, so the trace is still there.
        prover.loaded = true;
        match recorded {
            Ok(Some(graph)) => Ok(State::Recorded(graph)),
            Ok(None) => Ok(State::Refused),
            Err(ProverError::Backend(error)) if is_shortage(&error) => Ok(State::Refused),
            Err(error) => Err(error),
        }
    }
}

/// Whether memory was short.
const fn is_shortage(error: &BackendError) -> bool {
    matches!(error, BackendError::BudgetExceeded { .. } | BackendError::OutOfMemory { .. })
}

impl<Q: Record> fmt::Debug for ProofGraph<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            State::New => "new",
            State::Recorded(_) => "recorded",
            State::Refused => "refused",
        };
        f.debug_struct("ProofGraph").field("state", &state).finish_non_exhaustive()
    }
}
