//! The prover of a statement.

use core::fmt;

use core_types::{
    air::{Air, Gather, Generator},
    field::M31,
};
use stark_air::{RecordError, RecordedGenerator};
use stark_airs::{PreprocessedColumn, Statement, TraceColumns, Visitor, Witness, WitnessVisitor};
use stark_prover::{
    Collective, Component, Generated, MemoryPlan, ProofGraph, ProofSession, Prover, ProverError, Record, Residency,
    Stage, StarkOps, Submitted,
};
use stark_verifier::{Digest, PcsConfig, Protocol};
use thiserror::Error;

use crate::{StatementProof, relations::misplaced};

/// Why there is no proof of a statement.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProveError {
    /// An AIR of the statement, or the generator of its trace, cannot be recorded.
    #[error("component {component} cannot be recorded")]
    Record {
        /// The component.
        component: usize,
        /// Why.
        source: RecordError,
    },
    /// The trace has another number of components.
    #[error("expected columns of {expected} components, got {got}")]
    Components {
        /// Components of the statement.
        expected: usize,
        /// Components of the trace.
        got: usize,
    },
    /// The statement names another number of preprocessed columns than it has values of.
    #[error(
        "expected values of {expected} preprocessed columns (from `preprocessed`), got {got} in `preprocessed_values`"
    )]
    PreprocessedColumns {
        /// Columns that are named.
        expected: usize,
        /// Columns with values.
        got: usize,
    },
    /// A preprocessed column does not have the height that the statement declares.
    #[error("preprocessed column `{name}`: expected 2^{log_rows} values, got {got}")]
    PreprocessedRows {
        /// Its name.
        name: &'static str,
        /// Log of the number of its rows.
        log_rows: u32,
        /// Its values.
        got: usize,
    },
    /// The slots of a relation do not follow the slots of the relation before it.
    #[error("expected a relation whose slots begin at {expected}, got {got}")]
    Relations {
        /// The slot after the slots of the relations before it.
        expected: u32,
        /// Its first slot.
        got: u32,
    },
    /// The claimed sums do not add up to the statement's public sum.
    ///
    /// The tuples used differ from the tuples yielded.
    #[error("LogUp sums do not balance: the tuples used differ from those yielded")]
    Sums,
    /// The prover refused, or the device failed.
    #[error(transparent)]
    Prover(#[from] ProverError),
}

/// The prover of a statement, on a queue.
///
/// It holds all device memory of a proof, and makes any number of them.
pub struct StatementProver<'s, Q: StarkOps, S> {
    statement: &'s S,
    prover: Prover<Q>,
}

/// Records the AIRs of a statement.
struct Components(Result<Vec<Component>, ProveError>);

impl<'s> Visitor<'s> for Components {
    fn component<A: Air + Sync + 'static>(&mut self, air: &'s A, preprocessed: &[usize]) {
        let Ok(components) = &mut self.0 else { return };
        let component = components.len();
        match Component::new(air, preprocessed) {
            Ok(recorded) => components.push(recorded),
            Err(source) => self.0 = Err(ProveError::Record { component, source }),
        }
    }
}

/// The trace of a proof.
#[derive(Clone, Copy)]
enum Trace<'t> {
    /// The columns of each component.
    Columns(&'t [TraceColumns]),
    /// What makes them.
    Generated(&'t [Generated<'t>]),
}

/// What makes the trace of a component.
enum TraceSource<'w> {
    /// A recorded generator and the columns that it reads.
    Rows(RecordedGenerator, Vec<&'w [M31]>),
    /// Tables, and where each column comes from.
    Gathered(Vec<&'w [M31]>, &'w [Gather]),
    /// Multiplicities, counted by the generators of other components.
    Counters,
}

/// The generators of a witness, recorded, with their inputs.
struct Generators<'w> {
    /// For each component.
    sources: Vec<TraceSource<'w>>,
    /// The first component whose generator cannot be recorded.
    error: Option<ProveError>,
}

impl<'w> Generators<'w> {
    fn record<W: Witness>(witness: &'w W) -> Result<Self, ProveError> {
        let mut generators = Self { sources: Vec::new(), error: None };
        witness.generators(&mut generators);
        match generators.error {
            Some(error) => Err(error),
            None => Ok(generators),
        }
    }

    fn generated(&self) -> Vec<Generated<'_>> {
        let generated = self.sources.iter().map(|source| match source {
            TraceSource::Rows(generator, inputs) => Generated::Rows { generator, inputs },
            TraceSource::Gathered(tables, columns) => Generated::Gathered { tables, columns },
            TraceSource::Counters => Generated::Counters,
        });
        generated.collect()
    }
}

/// Columns as slices.
fn slices(columns: &[Vec<M31>]) -> Vec<&[M31]> {
    columns.iter().map(|column| &column[..]).collect()
}

impl<'w> WitnessVisitor<'w> for Generators<'w> {
    fn component<G: Generator>(&mut self, generator: &G, inputs: &'w [Vec<M31>]) {
        match RecordedGenerator::new(generator) {
            Ok(recorded) => self.sources.push(TraceSource::Rows(recorded, slices(inputs))),
            Err(source) => {
                let component = self.sources.len();
                self.error.get_or_insert(ProveError::Record { component, source });
            }
        }
    }

    fn gathered(&mut self, tables: &'w [Vec<M31>], columns: &'w [Gather]) {
        self.sources.push(TraceSource::Gathered(slices(tables), columns));
    }

    fn counters(&mut self) {
        self.sources.push(TraceSource::Counters);
    }
}

/// Plans the device memory of a [`StatementProver`] of `statement`. Allocates nothing.
///
/// # Errors
/// [`ProveError::Record`] for an AIR that cannot be recorded, [`ProveError::Prover`] if there are
/// no such proofs or the statement cannot be cut into this number of blocks.
pub fn memory_plan<S: Statement>(
    config: &PcsConfig,
    statement: &S,
    residency: Residency,
) -> Result<MemoryPlan, ProveError> {
    let preprocessed: Vec<u32> = statement.preprocessed().iter().map(|column| column.log_rows).collect();
    Ok(MemoryPlan::new(config, &preprocessed, &recorded(statement)?, residency)?)
}

/// Plans the device memory of each of `ranks` provers that make proofs together.
///
/// Allocates nothing. The plan has the fewest blocks possible for this number of ranks: see
/// [`StatementProver::sharded`].
///
/// # Errors
/// [`ProverError::Ranks`] if the statement cannot be shared among `ranks` ranks, and as
/// [`memory_plan`].
pub fn memory_plan_of_rank<S: Statement>(
    config: &PcsConfig,
    statement: &S,
    ranks: usize,
) -> Result<MemoryPlan, ProveError> {
    let preprocessed: Vec<u32> = statement.preprocessed().iter().map(|column| column.log_rows).collect();
    Ok(MemoryPlan::of_rank(config, &preprocessed, &recorded(statement)?, ranks)?)
}

/// Plans the device memory of a prover that would be made on `q` now. Allocates nothing.
///
/// The prover is the result of [`StatementProver::new`], or each of the `ranks` results of
/// [`StatementProver::sharded`] if all ranks have equal room. If no plan fits the budget, returns
/// the smallest one.
///
/// # Errors
/// As [`memory_plan_of_rank`].
pub fn memory_plan_on<Q: StarkOps, S: Statement>(
    q: &Q,
    config: &PcsConfig,
    statement: &S,
    ranks: usize,
) -> Result<MemoryPlan, ProveError> {
    let preprocessed: Vec<u32> = statement.preprocessed().iter().map(|column| column.log_rows).collect();
    Ok(MemoryPlan::on(q, config, &preprocessed, &recorded(statement)?, ranks)?)
}

/// The components of a statement, recorded.
fn recorded<S: Statement>(statement: &S) -> Result<Vec<Component>, ProveError> {
    let mut components = Components(Ok(Vec::new()));
    statement.visit(&mut components);
    components.0
}

/// The inputs of a prover: recorded components and the values of preprocessed columns.
struct ProverInputs {
    components: Vec<Component>,
    preprocessed: Vec<Vec<M31>>,
}

impl ProverInputs {
    /// Records the components of `statement` and checks its relations and preprocessed columns.
    fn of<S: Statement>(statement: &S) -> Result<Self, ProveError> {
        if let Some((expected, got)) = misplaced(statement.relations()) {
            return Err(ProveError::Relations { expected, got });
        }
        let components = recorded(statement)?;
        let preprocessed = statement.preprocessed_values();
        let columns = statement.preprocessed();
        if columns.len() != preprocessed.len() {
            return Err(ProveError::PreprocessedColumns { expected: columns.len(), got: preprocessed.len() });
        }
        let wrong = columns
            .into_iter()
            .zip(&preprocessed)
            .find(|(column, values)| 1usize.checked_shl(column.log_rows) != Some(values.len()));
        if let Some((PreprocessedColumn { name, log_rows }, values)) = wrong {
            return Err(ProveError::PreprocessedRows { name, log_rows, got: values.len() });
        }
        Ok(Self { components, preprocessed })
    }
}

impl<'s, Q: StarkOps, S: Statement> StatementProver<'s, Q, S> {
    /// Creates the prover of `statement` with these parameters.
    ///
    /// All committed values are kept in memory if the budget of `q` has room for them. Otherwise
    /// they are cut into the fewest blocks that fit. On a device with separate memory that has room
    /// for no number of blocks, coefficients are kept on the host.
    ///
    /// # Errors
    /// [`ProveError::Relations`] for relations whose slots do not follow each other,
    /// [`ProveError::Record`] for an AIR that cannot be recorded, [`ProveError::Prover`] if there
    /// are no such proofs or memory is short.
    pub fn new(q: &Q, protocol: Protocol, config: PcsConfig, statement: &'s S) -> Result<Self, ProveError> {
        let ProverInputs { components, preprocessed } = ProverInputs::of(statement)?;
        let prover = Prover::new(q, protocol, config, &slices(&preprocessed), components)?;
        Ok(Self { statement, prover })
    }

    /// As [`new`](Self::new), with the residency that the caller chooses.
    ///
    /// # Errors
    /// [`ProverError::Blocks`] if the statement cannot be cut into this number of blocks, and as
    /// [`new`](Self::new).
    pub fn with_residency(
        q: &Q,
        protocol: Protocol,
        config: PcsConfig,
        statement: &'s S,
        residency: Residency,
    ) -> Result<Self, ProveError> {
        let ProverInputs { components, preprocessed } = ProverInputs::of(statement)?;
        let prover = Prover::with_residency(q, protocol, config, &slices(&preprocessed), components, residency)?;
        Ok(Self { statement, prover })
    }

    /// Creates one of the provers that make each proof together, as ranks of `collective`.
    ///
    /// All ranks are given the same arguments: see [`Prover::sharded`].
    ///
    /// # Errors
    /// As [`Prover::sharded`] and [`new`](Self::new).
    pub fn sharded(
        q: &Q,
        collective: impl Collective<Q> + 'static,
        protocol: Protocol,
        config: PcsConfig,
        statement: &'s S,
    ) -> Result<Self, ProveError> {
        let ProverInputs { components, preprocessed } = ProverInputs::of(statement)?;
        let prover = Prover::sharded(q, collective, protocol, config, &slices(&preprocessed), components)?;
        Ok(Self { statement, prover })
    }

    /// Where committed values and coefficients are.
    #[must_use]
    pub const fn residency(&self) -> Residency {
        self.prover.residency()
    }

    /// The components of the statement, recorded.
    #[must_use]
    pub fn components(&self) -> &[Component] {
        self.prover.components()
    }

    /// Waits for the root of the preprocessed columns, which the verifier needs.
    ///
    /// # Errors
    /// Any error that the device reports.
    pub fn preprocessed_root(&self, q: &Q) -> Result<Digest, ProveError> {
        Ok(self.prover.preprocessed_root(q)?)
    }

    /// Proves the statement with a trace, the columns of each component in stored order.
    ///
    /// Waits once, for the proof, unless coefficients are on the host.
    ///
    /// # Errors
    /// [`ProveError::Sums`] or [`ProverError::Constraints`] if the trace does not satisfy the
    /// statement, and any error of the prover or the device.
    pub fn prove(&mut self, q: &Q, trace: &[TraceColumns]) -> Result<StatementProof, ProveError> {
        self.prove_trace(q, Trace::Columns(trace))
    }

    /// [`prove`](Self::prove), calling `watch` as each stage begins.
    ///
    /// The device has completed the earlier stages by then.
    ///
    /// # Errors
    /// As [`prove`](Self::prove).
    pub fn prove_watched(
        &mut self,
        q: &Q,
        trace: &[TraceColumns],
        watch: impl FnMut(Stage),
    ) -> Result<StatementProof, ProveError> {
        self.watched(q, Trace::Columns(trace), watch)
    }

    /// Proves the statement with the trace of `witness`, generated on the device of the queue.
    ///
    /// Only the inputs of its generators and tables are uploaded. The proof is the same as for the
    /// uploaded trace, and so is the waiting: see [`prove`](Self::prove).
    ///
    /// # Errors
    /// [`ProveError::Record`] if a generator cannot be recorded, and as [`prove`](Self::prove).
    pub fn prove_from<W: Witness>(&mut self, q: &Q, witness: &W) -> Result<StatementProof, ProveError> {
        let generators = Generators::record(witness)?;
        self.prove_trace(q, Trace::Generated(&generators.generated()))
    }

    /// [`prove_from`](Self::prove_from), calling `watch` as each stage begins.
    ///
    /// The device has completed the earlier stages by then.
    ///
    /// # Errors
    /// As [`prove_from`](Self::prove_from).
    pub fn prove_from_watched<W: Witness>(
        &mut self,
        q: &Q,
        witness: &W,
        watch: impl FnMut(Stage),
    ) -> Result<StatementProof, ProveError> {
        let generators = Generators::record(witness)?;
        self.watched(q, Trace::Generated(&generators.generated()), watch)
    }

    fn prove_trace(&mut self, q: &Q, trace: Trace<'_>) -> Result<StatementProof, ProveError> {
        self.load(q, trace)?;
        let made = make(self.statement, self.prover.begin(q)?)?;
        checked(self.statement, made)
    }

    fn watched(&mut self, q: &Q, trace: Trace<'_>, mut watch: impl FnMut(Stage)) -> Result<StatementProof, ProveError> {
        self.prover.wait(q)?;
        watch(Stage::Trace);
        self.load(q, trace)?;
        let mut session = committed(self.statement, self.prover.begin(q)?)?;
        if !self.statement.relations().is_empty() {
            q.finish().map_err(ProverError::from)?;
            watch(Stage::LookUps);
            session = look_ups(self.statement, session)?;
        }
        checked(self.statement, session.submit_watched(watch)?)
    }

    fn expect_components(&self, got: usize) -> Result<(), ProveError> {
        let expected = self.prover.components().len();
        if expected == got { Ok(()) } else { Err(ProveError::Components { expected, got }) }
    }

    /// Uploads or generates the trace of the next proof on the device.
    fn load(&mut self, q: &Q, trace: Trace<'_>) -> Result<(), ProveError> {
        let got = match trace {
            Trace::Columns(trace) => trace.len(),
            Trace::Generated(components) => components.len(),
        };
        self.expect_components(got)?;
        match trace {
            Trace::Columns(trace) => {
                let columns: Vec<&[M31]> = trace.iter().flatten().map(|column| &column[..]).collect();
                self.prover.load(q, &columns)?;
            }
            Trace::Generated(components) => self.prover.load_generated(q, components)?,
        }
        Ok(())
    }
}

impl<Q: StarkOps + Record, S: Statement> StatementProver<'_, Q, S> {
    /// [`prove`](Self::prove) with all work after the upload as one submission.
    ///
    /// `graph` stores the submission. It is recorded at the second proof, if the device can record.
    ///
    /// # Errors
    /// As [`prove`](Self::prove).
    pub fn prove_replayed(
        &mut self,
        q: &Q,
        graph: &mut ProofGraph<Q>,
        trace: &[TraceColumns],
    ) -> Result<StatementProof, ProveError> {
        self.load(q, Trace::Columns(trace))?;
        let statement = self.statement;
        let words = statement.words();
        let made = graph.submit(&mut self.prover, q, &words, |session| make(statement, session))?;
        checked(statement, made)
    }

    /// [`prove_from`](Self::prove_from) with all work after the upload as one submission.
    ///
    /// Trace generation is part of the submission. It is recorded as
    /// [`prove_replayed`](Self::prove_replayed) does.
    ///
    /// # Errors
    /// As [`prove_from`](Self::prove_from).
    pub fn prove_from_replayed<W: Witness>(
        &mut self,
        q: &Q,
        graph: &mut ProofGraph<Q>,
        witness: &W,
    ) -> Result<StatementProof, ProveError> {
        let generators = Generators::record(witness)?;
        self.prove_generated_replayed(q, graph, &generators.generated())
    }

    fn prove_generated_replayed(
        &mut self,
        q: &Q,
        graph: &mut ProofGraph<Q>,
        components: &[Generated<'_>],
    ) -> Result<StatementProof, ProveError> {
        self.expect_components(components.len())?;
        let statement = self.statement;
        let words = statement.words();
        let made =
            graph.submit_generated(&mut self.prover, q, &words, components, |session| make(statement, session))?;
        checked(statement, made)
    }
}

/// A proof of the trace that was loaded, all of it submitted.
fn make<'p, Q: StarkOps, S: Statement>(
    statement: &S,
    session: ProofSession<'p, Q>,
) -> Result<Submitted<'p, Q>, ProverError> {
    let session = committed(statement, session)?;
    if statement.relations().is_empty() { session.submit() } else { look_ups(statement, session)?.submit() }
}

/// Commits to the preprocessed columns, absorbs the statement's words, commits to the trace.
///
/// The trace has to be loaded.
fn committed<'p, Q: StarkOps, S: Statement>(
    statement: &S,
    mut session: ProofSession<'p, Q>,
) -> Result<ProofSession<'p, Q>, ProverError> {
    session.commit_preprocessed()?;
    session.mix_u32s(&statement.words())?;
    session.commit_loaded()?;
    Ok(session)
}

/// Draws the challenges of all relations, and commits to the look-ups.
fn look_ups<'p, Q: StarkOps, S: Statement>(
    statement: &S,
    mut session: ProofSession<'p, Q>,
) -> Result<ProofSession<'p, Q>, ProverError> {
    for &relation in statement.relations() {
        session.draw_relation(relation)?;
    }
    session.commit_look_ups()?;
    Ok(session)
}

/// Waits for a proof and checks the trace: first that look-ups balance.
fn checked<Q: StarkOps, S: Statement>(statement: &S, made: Submitted<'_, Q>) -> Result<StatementProof, ProveError> {
    let found = made.wait()?;
    let claimed_sums = if statement.relations().is_empty() { Vec::new() } else { found.claimed_sums().to_vec() };
    if !statement.relations().is_empty() && !statement.sums_add_up(found.challenges(), &claimed_sums) {
        return Err(ProveError::Sums);
    }
    Ok(StatementProof { claimed_sums, proof: found.proof()? })
}

impl<Q: StarkOps, S: fmt::Debug> fmt::Debug for StatementProver<'_, Q, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StatementProver").field("statement", &self.statement).finish_non_exhaustive()
    }
}
