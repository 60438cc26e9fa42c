//! Work of a proof that is one submission.

use core::fmt;
use std::sync::Arc;

use backend_api::{BackendError, Record};
use core_types::air::Gather;
use stark_air::RecordedGenerator;

use crate::{Generated, Prover, ProverError, StarkOps, plan::shape::TRACE, trace::inputs::TraceInputs};

/// Work that is recorded at its second submission and replayed from then on.
///
/// The first time it is submitted op by op.
pub(crate) struct RecordedSubmission<Q: Record> {
    of: Option<Subject>,
    state: RecordingState<Q>,
}

/// The identity of a recording: the memory, the key and the way the trace is generated.
struct Subject {
    memory: Arc<()>,
    key: Vec<u32>,
    trace: Option<Vec<Maker>>,
}

/// What makes the trace of a component, but for the words that it is made from.
#[derive(PartialEq)]
enum Maker {
    Rows(RecordedGenerator),
    Gathered { columns: Vec<Gather>, tables: Vec<usize> },
    Counters,
}

/// The work of a part.
///
/// It is no type parameter, so that `RecordedSubmission` is compiled once for each queue and not
/// for each statement.
type Make<'m, Q> = &'m dyn Fn(&mut Prover<Q>, &Q) -> Result<(), ProverError>;

enum RecordingState<Q: Record> {
    /// Nothing is recorded yet.
    New,
    /// The graph and the source data of the trace, if the trace is generated within the graph.
    Recorded(Q::Graph, Vec<TraceInputs<Q>>),
    /// The device does not record it, or memory is short for it.
    Refused,
}

impl PartialEq for Subject {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.memory, &other.memory) && self.key == other.key && self.trace == other.trace
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

impl<Q: Record> Default for RecordedSubmission<Q> {
    fn default() -> Self {
        Self { of: None, state: RecordingState::New }
    }
}

impl<Q: StarkOps + Record> RecordedSubmission<Q> {
    pub(crate) const fn is_recorded(&self) -> bool {
        matches!(self.state, RecordingState::Recorded(..))
    }

    /// Submits the work of `make`.
    ///
    /// It works on columns that were loaded, or on the trace that `components` make. A recording is
    /// replayed only for the same `key`.
    pub(crate) fn submit(
        &mut self,
        prover: &mut Prover<Q>,
        q: &Q,
        key: Vec<u32>,
        components: Option<&[Generated<'_>]>,
        make: Make<'_, Q>,
    ) -> Result<(), ProverError> {
        // A recording belongs to one memory, one key and one way to generate the trace.
        let memory = |prover: &Prover<Q>| Arc::clone(&prover.memory.identity);
        let trace = components.map(|components| components.iter().map(Maker::of).collect());
        let subject = Subject { memory: memory(prover), key, trace };
        let known = self.of.take().is_some_and(|known| known == subject);
        // What fails below leaves nothing.
        let state = core::mem::replace(&mut self.state, RecordingState::New);
        // The second submission of the same work records it.
        let state = match state {
            RecordingState::New if known && prover.can_be_recorded() => Self::record(prover, q, components, make)?,
            state if known => state,
            _ => RecordingState::New,
        };
        // A recording is replayed with new inputs; if memory is short, it is dropped.
        let state = match state {
            RecordingState::Recorded(graph, mut inputs) => {
                for (generated, inputs) in components.into_iter().flatten().zip(&mut inputs) {
                    inputs.write(q, generated)?;
                }
                match q.replay(&graph) {
                    Err(error) if is_shortage(&error) => RecordingState::Refused,
                    replayed => {
                        replayed?;
                        prover.loaded = None;
                        RecordingState::Recorded(graph, inputs)
                    }
                }
            }
            state => state,
        };
        // Without a recording, ops are submitted one by one.
        if !matches!(state, RecordingState::Recorded(..)) {
            if let Some(components) = components {
                prover.load_generated(q, components)?;
            }
            make(prover, q)?;
        }
        // Memory may have been replaced.
        *self = Self { of: Some(Subject { memory: memory(prover), ..subject }), state };
        Ok(())
    }

    /// Moves the next recording to the memory that `prover` has now.
    ///
    /// A finished recording keeps its memory.
    pub(crate) fn follow(&mut self, prover: &Prover<Q>) {
        if let (RecordingState::New, Some(of)) = (&self.state, &mut self.of) {
            of.memory = Arc::clone(&prover.memory.identity);
        }
    }

    fn record(
        prover: &mut Prover<Q>,
        q: &Q,
        components: Option<&[Generated<'_>]>,
        make: Make<'_, Q>,
    ) -> Result<RecordingState<Q>, ProverError> {
        // The graph has the generation of the trace, if any, and the work.
        let loaded = prover.loaded;
        let mut record = || {
            let inputs = components.into_iter().flatten().map(|generated| TraceInputs::new(q, generated));
            let mut inputs = inputs.collect::<Result<Vec<_>, _>>()?;
            let graph = q.record(|q| {
                if let Some(components) = components {
                    prover.generate_from(q, components, &mut inputs)?;
                    prover.loaded = Some(TRACE);
                }
                make(prover, q)
            })?;
            Ok(graph.map(|graph| (graph, inputs)))
        };
        let recorded = record();
        // Nothing has run, so what was loaded is still there.
        prover.loaded = loaded;
        // If the device cannot record it or memory is short, it is not tried again.
        match recorded {
            Ok(Some((graph, inputs))) => Ok(RecordingState::Recorded(graph, inputs)),
            Ok(None) => Ok(RecordingState::Refused),
            Err(ProverError::Backend(error)) if is_shortage(&error) => Ok(RecordingState::Refused),
            Err(error) => Err(error),
        }
    }
}

impl<Q: StarkOps> Prover<Q> {
    /// Whether its work may be recorded: what passes through the host is not.
    pub(crate) const fn can_be_recorded(&self) -> bool {
        self.shape.place.is_alone() && self.host.is_none()
    }
}

/// Whether memory was short.
const fn is_shortage(error: &BackendError) -> bool {
    matches!(error, BackendError::BudgetExceeded { .. } | BackendError::OutOfMemory { .. })
}

impl<Q: Record> fmt::Debug for RecordedSubmission<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.state {
            RecordingState::New => "new",
            RecordingState::Recorded(..) => "recorded",
            RecordingState::Refused => "refused",
        })
    }
}
