//! This verifier's side of the statements.

use core_types::field::{M31, QM31};
use stark_verifier::{
    Component, Digest, Inputs, PcsConfig, Preprocessed, Proof, Protocol, StatementError, VerificationError, Verifier,
};

use super::{
    Vector,
    airs::{Cubes, Neighbours, PAIR, Selected, StateMachine, TRIPLE, WideFibonacci, XorTable, XorUse},
    shipped::Shipped,
    stwo_side::statement::Statement,
};

/// Verifies a proof with this verifier.
pub(crate) fn check(vector: &Vector, proof: &Proof) -> Result<(), VerificationError> {
    with_verifier(vector, vector.config, |verifier| check_with(vector, verifier.as_ref().unwrap(), proof))
}

/// Drives a session through the steps of the statement.
pub(crate) fn check_with(vector: &Vector, verifier: &Verifier<'_>, proof: &Proof) -> Result<(), VerificationError> {
    let mut session = verifier.begin(proof)?;
    session.commit();
    session.channel().mix_u32s(&vector.statement.words());
    session.commit();
    let sums: Vec<_> =
        vector.claimed_sums.iter().map(|&words| QM31::from_coordinates(words.map(M31::from_u32))).collect();
    let shipped = Shipped::of(&vector.statement);
    let relations = match vector.statement {
        Statement::StateMachine { .. } => &[PAIR],
        Statement::Xor { .. } => &[TRIPLE],
        _ => shipped.as_ref().map_or(&[] as &[_], Shipped::relations),
    };
    if relations.is_empty() {
        return session.finish(&vec![Inputs::default(); vector.statement.heights().len()]);
    }
    let challenges: Vec<_> = relations.iter().flat_map(|&relation| session.channel().draw_relation(relation)).collect();
    session.channel().mix_felts(&sums);
    session.commit();
    let inputs = |&claimed_sum: &QM31| Inputs { challenges: challenges.clone(), claimed_sum };
    session.finish(&sums.iter().map(inputs).collect::<Vec<_>>())?;
    assert!(shipped.is_none_or(|shipped| shipped.sums_add_up(&challenges, &sums)), "{vector:?}");
    Ok(())
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
    if let Some(shipped) = Shipped::of(&vector.statement) {
        assert_eq!(shipped.words(), vector.statement.words());
        assert_eq!(shipped.preprocessed(), vector.statement.preprocessed());
        return verify(shipped.components());
    }
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
        other => panic!("{other:?} ships"),
    }
}
