//! This prover's side of the statements.

use core_types::field::QM31;
use stark::{Component, PcsConfig, Proof, Protocol, Prover, ProverError, Residency, StarkOps};

use crate::{
    common::slices,
    session::{
        airs::{Cubes, Neighbours, PAIR, Selected, StateMachine, TRIPLE, WideFibonacci, XorTable, XorUse},
        traces::{Traces, traces},
    },
    statement::Statement,
};

/// The components of a statement.
pub(crate) fn components(statement: &Statement) -> Vec<Component> {
    let place = |name: &str| statement.preprocessed().iter().position(|(id, _)| *id == name).unwrap();
    match *statement {
        Statement::WideFibonacci { ref log_rows, ref columns } => {
            let airs = log_rows.iter().zip(columns).map(|(&log_rows, &columns)| WideFibonacci { log_rows, columns });
            airs.map(|air| Component::new(&air, &[]).unwrap()).collect()
        }
        Statement::Neighbours { log_rows } => vec![Component::new(&Neighbours { log_rows }, &[]).unwrap()],
        Statement::Cubes { log_rows } => vec![Component::new(&Cubes { log_rows }, &[place("constant")]).unwrap()],
        Statement::Selected { log_rows, .. } => {
            let selectors = ["selector-1", statement.second_selector()];
            let columns = selectors.into_iter().zip(["offset-1", "offset-2"]);
            let components = log_rows.map(|log_rows| Selected { log_rows }).into_iter().zip(columns);
            components
                .map(|(air, (selector, offset))| Component::new(&air, &[place(selector), place(offset)]).unwrap())
                .collect()
        }
        Statement::StateMachine { log_rows, in_pairs } => {
            vec![Component::new(&StateMachine { log_rows, in_pairs }, &[]).unwrap()]
        }
        Statement::Xor { log_rows, bits } => vec![
            Component::new(&XorUse { log_rows }, &[]).unwrap(),
            Component::new(&XorTable { log_rows: 2 * bits }, &["a", "b", "c"].map(place)).unwrap(),
        ],
        ref other => panic!("{other:?} ships"),
    }
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

/// As [`prover`], with this residency.
fn prover_with<Q: StarkOps>(
    q: &Q,
    statement: &Statement,
    config: PcsConfig,
    residency: Residency,
    traces: &Traces,
) -> Result<Prover<Q>, ProverError> {
    let preprocessed = slices(&traces.preprocessed);
    Prover::with_residency(q, Protocol::V2_3, config, &preprocessed, components(statement), residency)
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
    let relation = match statement {
        Statement::StateMachine { .. } => PAIR,
        Statement::Xor { .. } => TRIPLE,
        _ => return Ok((session.finish()?, vec![])),
    };
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
    let mut prover = prover_with(q, statement, config, residency, &traces)?;
    finish(q, &mut prover, statement, &traces)
}
