//! The prover of a statement.

use core::fmt;

use backend_api::{Collective, Record, ops::StarkOps};
use core_types::field::M31;
use stark_airs::{Statement, TraceColumns, Witness};
use stark_verifier::{Digest, PcsConfig, Protocol};

use super::{
    error::ProveError,
    inputs::{ProverInputs, slices},
    options::ProveOptions,
    proof::StatementProof,
    trace_source::{ComponentSource, TraceForm, TraceSource},
};
use crate::{
    assembly::submitted::Submitted,
    error::ProverError,
    plan::{component::Component, generated::Generated, residency::Residency},
    protocol::{session::ProofSession, stage::Stage},
    prover::Prover,
    recording::graph::ProofGraph,
};

/// The prover of a statement, on a queue.
///
/// It holds all device memory of a proof, and makes any number of them.
pub struct StatementProver<'s, Q: StarkOps, S> {
    statement: &'s S,
    prover: Prover<Q>,
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
        self.prove_op_by_op(q, &TraceSource::columns(trace))
    }

    /// Proves the statement with the trace of `witness`, generated on the device of the queue.
    ///
    /// Only the inputs of its generators and tables are uploaded. The proof is the same as for the
    /// uploaded trace, and so is the waiting: see [`prove`](Self::prove).
    ///
    /// # Errors
    /// [`ProveError::Record`] if a generator cannot be recorded, and as [`prove`](Self::prove).
    pub fn prove_from<W: Witness>(&mut self, q: &Q, witness: &W) -> Result<StatementProof, ProveError> {
        self.prove_op_by_op(q, &TraceSource::witness(witness)?)
    }

    fn prove_op_by_op(&mut self, q: &Q, trace: &TraceSource<'_>) -> Result<StatementProof, ProveError> {
        self.load(q, trace)?;
        let made = make(self.statement, self.prover.begin(q)?)?;
        checked(self.statement, made)
    }

    fn prove_watched(
        &mut self,
        q: &Q,
        trace: &TraceSource<'_>,
        watch: &mut dyn FnMut(Stage),
    ) -> Result<StatementProof, ProveError> {
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

    fn expect_components(&self, trace: &TraceSource<'_>) -> Result<(), ProveError> {
        let (expected, got) = (self.prover.components().len(), trace.components());
        if expected == got { Ok(()) } else { Err(ProveError::Components { expected, got }) }
    }

    /// Uploads or generates the trace of the next proof on the device.
    fn load(&mut self, q: &Q, trace: &TraceSource<'_>) -> Result<(), ProveError> {
        self.expect_components(trace)?;
        match &trace.form {
            TraceForm::Columns(trace) => {
                let columns: Vec<&[M31]> = trace.iter().flatten().map(|column| &column[..]).collect();
                self.prover.load(q, &columns)?;
            }
            TraceForm::Witness(sources) => self.prover.load_generated(q, &generated(sources))?,
        }
        Ok(())
    }
}

impl<Q: StarkOps + Record, S: Statement> StatementProver<'_, Q, S> {
    /// Proves the statement with a trace of either form, with options.
    ///
    /// The proof has the same bytes with any options. If it is watched, a graph is neither recorded
    /// nor replayed.
    ///
    /// # Errors
    /// As [`prove`](Self::prove).
    pub fn prove_with(
        &mut self,
        q: &Q,
        trace: &TraceSource<'_>,
        options: ProveOptions<'_, Q>,
    ) -> Result<StatementProof, ProveError> {
        match options {
            ProveOptions { watch: Some(watch), .. } => self.prove_watched(q, trace, watch),
            ProveOptions { graph: Some(graph), .. } => self.prove_replayed(q, trace, graph),
            ProveOptions { .. } => self.prove_op_by_op(q, trace),
        }
    }

    fn prove_replayed(
        &mut self,
        q: &Q,
        trace: &TraceSource<'_>,
        graph: &mut ProofGraph<Q>,
    ) -> Result<StatementProof, ProveError> {
        let statement = self.statement;
        let words = statement.words();
        let made = match &trace.form {
            TraceForm::Columns(_) => {
                self.load(q, trace)?;
                graph.submit(&mut self.prover, q, &words, |session| make(statement, session))?
            }
            // Trace generation is part of the submission.
            TraceForm::Witness(sources) => {
                self.expect_components(trace)?;
                let components = generated(sources);
                graph.submit_generated(&mut self.prover, q, &words, &components, |session| make(statement, session))?
            }
        };
        checked(statement, made)
    }
}

/// The generators of all components, as a prover takes them.
fn generated<'s>(sources: &'s [ComponentSource<'_>]) -> Vec<Generated<'s>> {
    sources.iter().map(ComponentSource::generated).collect()
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
