//! This prover's side of the statements.

use core_types::field::QM31;
use stark::{Component, PcsConfig, Proof, Protocol, Prover, ProverError, Residency, StarkOps};

use crate::{
    common::slices,
    session::{
        airs::{airs, relations},
        traces::{Traces, traces},
    },
    statement::Statement,
};

/// The components of a statement.
pub(crate) fn components(statement: &Statement) -> Vec<Component> {
    airs(statement).iter().map(|(air, places)| Component::new(air, places).unwrap()).collect()
}

/// The prover of a statement with the preprocessed columns of `traces`.
pub(crate) fn prover<Q: StarkOps>(
    q: &Q,
    statement: &Statement,
    config: PcsConfig,
    traces: &Traces,
) -> Result<Prover<Q>, ProverError> {
    Prover::new(q, Protocol::V2_3, config, &slices(&traces.preprocessed), components(statement))
}

/// Drives a session through the steps of the statement.
pub(crate) fn finish<Q: StarkOps>(
    q: &Q,
    prover: &mut Prover<Q>,
    statement: &Statement,
    traces: &Traces,
) -> Result<(Proof, Vec<QM31>), ProverError> {
    let mut session = prover.begin(q)?;
    session.commit_preprocessed()?;
    session.mix_u32s(&statement.heights())?;
    session.commit(&slices(&traces.trace))?;
    let &[relation] = relations(statement) else { return Ok((session.finish()?, vec![])) };
    session.draw_relation(relation)?;
    session.commit_look_ups()?;
    let sums = session.claimed_sums()?;
    Ok((session.finish()?, sums))
}

/// The proof of a statement, and its claimed sums.
pub(crate) fn prove<Q: StarkOps>(
    q: &Q,
    statement: &Statement,
    config: PcsConfig,
    residency: Residency,
    seed: u64,
) -> Result<(Proof, Vec<QM31>), ProverError> {
    let traces = traces(statement, seed);
    let (preprocessed, components) = (slices(&traces.preprocessed), components(statement));
    let mut prover = Prover::with_residency(q, Protocol::V2_3, config, &preprocessed, components, residency)?;
    finish(q, &mut prover, statement, &traces)
}
