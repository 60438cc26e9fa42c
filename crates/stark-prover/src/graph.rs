//! A proof as one submission.

use core::fmt;
use std::sync::Arc;

use backend_api::{BackendError, Record};
use core_types::air::Gather;
use stark_air::RecordedGenerator;

use crate::{Generated, Prover, ProverError, Session, StarkOps, Submitted, inputs::Inputs};

/// The work of a proof from its trace on, recorded at the second proof and replayed from then on as one submission.
///
/// It belongs to the memory of one prover: with another prover, or when a relation needed more memory, it is made anew, and
/// so it is when other words are said, or the trace is made in another way. Proofs do not depend on whether they were replayed.
///
/// While it is there, it keeps the memory of that prover, what the trace is made from, and the little that single ops need. Where the
/// budget has no room for that, the work is submitted op by op. Drop it with its prover.
pub struct ProofGraph<Q: Record> {
    of: Option<Subject>,
    state: State<Q>,
}

/// What a graph is the graph of.
struct Subject {
    memory: Arc<()>,
    said: Vec<u32>,
    trace: Option<Vec<Maker>>,
}

/// What makes the trace of a component, but for the words that it is made from.
#[derive(PartialEq)]
enum Maker {
    Rows(RecordedGenerator),
    Gathered { columns: Vec<Gather>, tables: Vec<usize> },
    Counters,
}

enum State<Q: Record> {
    /// Nothing is recorded yet.
    New,
    /// With what the trace is made from, if it is made within the graph.
    Recorded(Q::Graph, Vec<Inputs<Q>>),
    /// The device does not record it, or memory is short for it.
    Refused,
}

impl PartialEq for Subject {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.memory, &other.memory) && self.said == other.said && self.trace == other.trace
    }
}

impl Maker {
    fn of(generated: &Generated<'_>) -> Self {
        match *generated {
            Generated::Rows { generator, .. } => Self::Rows(generator.clone()),
            Generated::Gathered { tables, columns } => {
                Self::Gathered { columns: columns.to_vec(), tables: tables.iter().map(|table| table.len()).collect() }
            }
            Generated::Counters => Self::Counters,
        }
    }
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
        matches!(self.state, State::Recorded(..))
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
        self.submit_trace(prover, q, said, None, make)
    }

    /// As [`submit`](Self::submit), of the trace that `components` make on the device: the making is part of the one submission, and
    /// only what the trace is made from is uploaded before it.
    ///
    /// # Errors
    /// As [`Prover::load_generated`] and [`submit`](Self::submit).
    pub fn submit_generated<'p>(
        &mut self,
        prover: &'p mut Prover<Q>,
        q: &'p Q,
        said: &[u32],
        components: &[Generated<'_>],
        make: impl for<'s> Fn(Session<'s, Q>) -> Result<Submitted<'s, Q>, ProverError>,
    ) -> Result<Submitted<'p, Q>, ProverError> {
        prover.loaded = false;
        let checked = prover.check_generated(components);
        prover.group.or_end(checked)?;
        self.submit_trace(prover, q, said, Some(components), make)
    }

    /// Submits a proof of the trace that was loaded, or that these components make.
    fn submit_trace<'p>(
        &mut self,
        prover: &'p mut Prover<Q>,
        q: &'p Q,
        said: &[u32],
        components: Option<&[Generated<'_>]>,
        make: impl for<'s> Fn(Session<'s, Q>) -> Result<Submitted<'s, Q>, ProverError>,
    ) -> Result<Submitted<'p, Q>, ProverError> {
        let memory = |prover: &Prover<Q>| Arc::clone(&prover.memory.identity);
        let trace = components.map(|components| components.iter().map(Maker::of).collect());
        let subject = Subject { memory: memory(prover), said: said.to_vec(), trace };
        let known = self.of.take().is_some_and(|known| known == subject);
        // What fails below leaves nothing.
        let state = core::mem::replace(&mut self.state, State::New);
        let state = match state {
            // What passes through the host is not recorded.
            State::New if known && prover.shape.place.is_alone() && prover.host.is_none() => {
                Self::record(prover, q, components, &make)?
            }
            state if known => state,
            _ => State::New,
        };
        let state = match state {
            State::Recorded(graph, mut inputs) => {
                for (generated, inputs) in components.into_iter().flatten().zip(&mut inputs) {
                    inputs.write(q, generated)?;
                }
                match q.replay(&graph) {
                    Err(error) if is_shortage(&error) => State::Refused,
                    replayed => {
                        replayed?;
                        prover.loaded = false;
                        State::Recorded(graph, inputs)
                    }
                }
            }
            state => state,
        };
        if !matches!(state, State::Recorded(..)) {
            if let Some(components) = components {
                prover.load_generated(q, components)?;
            }
            make(Session::new(prover, q, true)?)?;
        }
        // Memory may have been replaced.
        *self = Self { of: Some(Subject { memory: memory(prover), ..subject }), state };
        Ok(Submitted { prover, q })
    }

    fn record(
        prover: &mut Prover<Q>,
        q: &Q,
        components: Option<&[Generated<'_>]>,
        make: impl for<'s> Fn(Session<'s, Q>) -> Result<Submitted<'s, Q>, ProverError>,
    ) -> Result<State<Q>, ProverError> {
        let loaded = prover.loaded;
        let mut record = || {
            let inputs = components.into_iter().flatten().map(|generated| Inputs::new(q, generated));
            let mut inputs = inputs.collect::<Result<Vec<_>, _>>()?;
            let graph = q.record(|q| {
                if let Some(components) = components {
                    prover.generate_from(q, components, &mut inputs)?;
                    prover.loaded = true;
                }
                make(Session::new(prover, q, true)?).map(drop)
            })?;
            Ok(graph.map(|graph| (graph, inputs)))
        };
        let recorded = record();
        // Nothing has run, so what was loaded is still there.
        prover.loaded = loaded;
        match recorded {
            Ok(Some((graph, inputs))) => Ok(State::Recorded(graph, inputs)),
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
            State::Recorded(..) => "recorded",
            State::Refused => "refused",
        };
        f.debug_struct("ProofGraph").field("state", &state).finish_non_exhaustive()
    }
}
