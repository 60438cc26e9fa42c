//! Interaction columns that the caller makes on the host, from challenges that it waits for.

use backend_api::Counted as _;
use core_types::{
    air::{Air, Relation, Row, Tree},
    field::{M31, QM31},
};
use runtime::{AnyQueue, Choice, Domain, Settings};
use stark_prover::{Component, PcsConfig, Proof, Protocol, Prover, ProverError};
use stark_verifier::{Component as Checked, Inputs, Preprocessed, Verifier};

use crate::vectors::simulated;

/// A column, and beside it the same times a challenge.
struct Scaled;

const CHALLENGE: Relation = Relation::new(0, 0);

impl Air for Scaled {
    fn log_rows(&self) -> u32 {
        5
    }

    fn eval<R: Row>(&self, row: &mut R) {
        let x = row.column();
        let [scaled] = row.mask_ext(Tree::INTERACTION, [0]);
        let challenge = row.challenge(0);
        row.constraint_ext(scaled - challenge * R::E::from(x));
    }
}

fn prover(q: &AnyQueue) -> Prover<AnyQueue> {
    let component = Component::new(&Scaled, &[]).unwrap();
    Prover::new(q, Protocol::V2_3, PcsConfig::default(), &[], vec![component]).unwrap()
}

fn processor() -> AnyQueue {
    runtime::open_with(&Settings::default(), Some(Domain::Stark), Some(Choice::Cpu)).unwrap().0
}

fn rows() -> Vec<M31> {
    (0..32).map(|row| M31::from_u32(row * row + 3)).collect()
}

/// The four columns of `rows` times a challenge.
fn scaled(rows: &[M31], challenge: QM31) -> [Vec<M31>; 4] {
    let values = || rows.iter().map(|&x| (challenge * QM31::from(x)).coordinates());
    [0, 1, 2, 3].map(|coordinate| values().map(|value| value[coordinate]).collect())
}

/// A proof and its challenge, and how often the host waited for it.
fn prove(q: &AnyQueue, prover: &mut Prover<AnyQueue>) -> (Proof, QM31, u64) {
    let rows = rows();
    let before = q.submissions();
    let mut session = prover.begin(q).unwrap();
    session.commit_preprocessed().unwrap();
    session.commit(&[&rows]).unwrap();
    session.draw_relation(CHALLENGE).unwrap();
    let challenge = session.challenges().unwrap()[0];
    let columns = scaled(&rows, challenge);
    session.commit(&columns.each_ref().map(|column| &column[..])).unwrap();
    let proof = session.finish().unwrap();
    (proof, challenge, (q.submissions() - before).waits)
}

#[test]
fn interaction_columns_that_the_host_makes_cost_one_wait_more() {
    let q = simulated();
    let mut device = prover(&q);
    let (proof, challenge, _) = prove(&q, &mut device);
    let (again, _, waits) = prove(&q, &mut device);
    assert_eq!((&again, waits), (&proof, 2));
    let q = processor();
    assert_eq!(prove(&q, &mut prover(&q)).0, proof);

    let checked = vec![Checked::new(&Scaled, &[])];
    let verifier = Verifier::new(Protocol::V2_3, PcsConfig::default(), Preprocessed::default(), checked).unwrap();
    let mut session = verifier.begin(&proof).unwrap();
    session.commit();
    session.commit();
    assert_eq!(session.channel().draw_relation(CHALLENGE), [challenge]);
    session.commit();
    session.finish(&[Inputs { challenges: vec![challenge], claimed_sum: QM31::ZERO }]).unwrap();
}

#[test]
fn interaction_columns_beside_those_of_look_ups_are_refused_and_the_host_can_make_them() {
    let q = processor();
    let mut prover = prover(&q);
    let mut session = prover.begin(&q).unwrap();
    session.commit_preprocessed().unwrap();
    session.commit(&[&rows()]).unwrap();
    session.draw_relation(CHALLENGE).unwrap();
    assert_eq!(session.commit_look_ups(), Err(ProverError::Interaction { component: 0, expected: 0, got: 4 }));
    let challenge = session.challenges().unwrap()[0];
    let columns = scaled(&rows(), challenge);
    session.commit(&columns.each_ref().map(|column| &column[..])).unwrap();
    assert!(session.finish().is_ok());
    // Those of another challenge break the constraint.
    let mut session = prover.begin(&q).unwrap();
    session.commit_preprocessed().unwrap();
    session.commit(&[&rows()]).unwrap();
    session.draw_relation(CHALLENGE).unwrap();
    let columns = scaled(&rows(), challenge + QM31::from(M31::ONE));
    session.commit(&columns.each_ref().map(|column| &column[..])).unwrap();
    assert_eq!(session.finish(), Err(ProverError::Constraints));
}
