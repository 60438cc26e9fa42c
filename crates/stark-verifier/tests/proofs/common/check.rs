//! This verifier's side of the statements.

use core_types::field::{M31, QM31};
use stark_verifier::{
    Component, Digest, Inputs, PcsConfig, Preprocessed, Proof, Protocol, StatementError, VerificationError, Verifier,
};

use super::{
    Vector,
    airs::{Cubes, Neighbours, PAIR, Selected, StateMachine, TRIPLE, WideFibonacci, XorTable, XorUse},
    stwo_side::statement::Statement,
};

/// What this verifier says of a proof.
pub(crate) fn check(vector: &Vector, proof: &Proof) -> Result<(), VerificationError> {
    with_verifier(vector, vector.config, |verifier| check_with(vector, verifier.as_ref().unwrap(), proof))
}

/// Drives a session as the statement says.
pub(crate) fn check_with(vector: &Vector, verifier: &Verifier<'_>, proof: &Proof) -> Result<(), VerificationError> {
    let mut session = verifier.begin(proof)?;
    session.commit();
    session.channel().mix_u32s(&vector.statement.heights());
    session.commit();
    let sums: Vec<_> =
        vector.claimed_sums.iter().map(|&words| QM31::from_coordinates(words.map(M31::from_u32))).collect();
    let relation = match vector.statement {
        Statement::StateMachine { .. } => PAIR,
        Statement::Xor { .. } => TRIPLE,
        _ => return session.finish(&vec![Inputs::default(); vector.statement.heights().len()]),
    };
    let challenges = session.channel().draw_relation(relation);
    session.channel().mix_felts(&sums);
    session.commit();
    let inputs = |claimed_sum| Inputs { challenges: challenges.clone(), claimed_sum };
    session.finish(&sums.into_iter().map(inputs).collect::<Vec<_>>())
}

/// Calls `with` with the verifier of a statement and of these parameters.
pub(crate) fn with_verifier<T>(
    vector: &Vector,
    config: PcsConfig,
    with: impl FnOnce(Result<Verifier<'_>, StatementError>) -> T,
) -> T {
    let log_rows = vector.statement.preprocessed().into_iter().map(|(_, log_rows)| log_rows).collect();
    let preprocessed = Preprocessed { root: Digest(vector.preprocessed_root), log_rows };
    let place =
        |name: &str| vector.statement.preprocessed().iter().position(|(id, _)| *id == name).expect("a column's name");
    let verify = |components| with(Verifier::new(Protocol::V2_3, config, preprocessed, components));
    match &vector.statement {
        Statement::WideFibonacci { log_rows, columns } => {
            let airs: Vec<_> =
                log_rows.iter().zip(columns).map(|(&log_rows, &columns)| WideFibonacci { log_rows, columns }).collect();
            verify(airs.iter().map(|air| Component::new(air, &[])).collect())
        }
        &Statement::Neighbours { log_rows } => verify(vec![Component::new(&Neighbours { log_rows }, &[])]),
        &Statement::Cubes { log_rows } => verify(vec![Component::new(&Cubes { log_rows }, &[place("constant")])]),
        Statement::Selected { log_rows, .. } => {
            let airs = log_rows.map(|log_rows| Selected { log_rows });
            let selectors = ["selector-1", vector.statement.second_selector()];
            let components = airs.iter().zip(selectors).zip(["offset-1", "offset-2"]);
            verify(
                components
                    .map(|((air, selector), offset)| Component::new(air, &[place(selector), place(offset)]))
                    .collect(),
            )
        }
        &Statement::StateMachine { log_rows, in_pairs } => {
            verify(vec![Component::new(&StateMachine { log_rows, in_pairs }, &[])])
        }
        &Statement::Xor { log_rows, bits } => verify(vec![
            Component::new(&XorUse { log_rows }, &[]),
            Component::new(&XorTable { log_rows: 2 * bits }, &["a", "b", "c"].map(place)),
        ]),
    }
}
