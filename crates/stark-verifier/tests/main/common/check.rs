//! This verifier's side of the statements.

use core_types::{
    air::Air,
    field::{M31, QM31},
};
use stark_airs::{Statement as _, Visitor};
use stark_verifier::{
    Component, Digest, Inputs, PcsConfig, Preprocessed, Proof, Protocol, StatementError, VerificationError, Verifier,
};

use super::{
    Vector,
    airs::{airs, relations},
    stated::Stated,
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
    let stated = Stated::of(&vector.statement);
    let relations = stated.as_ref().map_or_else(|| relations(&vector.statement), |stated| stated.relations());
    if relations.is_empty() {
        return session.finish(&vec![Inputs::default(); vector.statement.heights().len()]);
    }
    let challenges: Vec<_> = relations.iter().flat_map(|&relation| session.channel().draw_relation(relation)).collect();
    session.channel().mix_felts(&sums);
    session.commit();
    let inputs = |&claimed_sum: &QM31| Inputs { challenges: challenges.clone(), claimed_sum };
    session.finish(&sums.iter().map(inputs).collect::<Vec<_>>())?;
    assert!(stated.is_none_or(|stated| stated.sums_add_up(&challenges, &sums)), "{vector:?}");
    Ok(())
}

/// Calls `with` with the verifier of a statement and of these parameters.
pub(crate) fn with_verifier<T>(
    vector: &Vector,
    config: PcsConfig,
    with: impl FnOnce(Result<Verifier<'_>, StatementError>) -> T,
) -> T {
    let columns = vector.statement.preprocessed();
    let log_rows = columns.iter().map(|(_, log_rows)| *log_rows).collect();
    let preprocessed = Preprocessed { root: Digest(vector.preprocessed_root), log_rows };
    let verify = |components| with(Verifier::new(Protocol::V2_3, config, preprocessed, components));
    if let Some(stated) = Stated::of(&vector.statement) {
        assert_eq!(stated.words(), vector.statement.words());
        assert!(stated.preprocessed().iter().map(|column| (column.name, column.log_rows)).eq(columns));
        let mut components = Components(Vec::new());
        stated.visit(&mut components);
        return verify(components.0);
    }
    let airs = airs(&vector.statement);
    verify(airs.iter().map(|(air, places)| Component::new(air, places)).collect())
}

struct Components<'s>(Vec<Component<'s>>);

impl<'s> Visitor<'s> for Components<'s> {
    fn component<A: Air + Sync + 'static>(&mut self, air: &'s A, preprocessed: &[usize]) {
        self.0.push(Component::new(air, preprocessed));
    }
}
