//! Interaction columns that the caller makes on the host, from challenges that it waits for.

use backend_api::{Counted as _, Queue as _};
use core_types::field::{M31, QM31};
use runtime::AnyQueue;
use stark::{
    Component, Interaction, PcsConfig, Proof, ProofGraphPair, ProofSession, Protocol, Prover, ProverError, Residency,
};
use stark_verifier::{Component as Checked, Inputs, Preprocessed, Verifier};

use crate::{
    common::{processor, simulated, simulated_queue, slices},
    host_columns::{self, CHALLENGE, Scaled, finish, scaled},
};

const SCALED: Scaled = Scaled { log_rows: 5 };

fn prover(q: &AnyQueue) -> Prover<AnyQueue> {
    prover_with(q, Residency::Full)
}

fn prover_with(q: &AnyQueue, residency: Residency) -> Prover<AnyQueue> {
    let component = Component::new(&SCALED, &[]).unwrap();
    Prover::with_residency(q, Protocol::V2_3, PcsConfig::default(), &[], vec![component], residency).unwrap()
}

fn rows() -> Vec<M31> {
    rows_of(3)
}

fn rows_of(seed: u32) -> Vec<M31> {
    (0..32).map(|row| M31::from_u32(row * row + seed)).collect()
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
    session.commit(&slices(&columns)).unwrap();
    let proof = session.finish().unwrap();
    (proof, challenge, (q.submissions() - before).waits)
}

#[test]
fn interaction_columns_that_the_host_makes_cost_one_wait_more() {
    let (_machine, q) = simulated();
    let mut device = prover(&q);
    let (proof, challenge, _) = prove(&q, &mut device);
    let (again, _, waits) = prove(&q, &mut device);
    assert_eq!((&again, waits), (&proof, 2));
    let q = processor();
    assert_eq!(prove(&q, &mut prover(&q)).0, proof);

    let checked = vec![Checked::new(&SCALED, &[])];
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
    session.commit(&slices(&columns)).unwrap();
    assert!(session.finish().is_ok());
    // Interaction columns made from another challenge break the constraint.
    let mut session = prover.begin(&q).unwrap();
    session.commit_preprocessed().unwrap();
    session.commit(&[&rows()]).unwrap();
    session.draw_relation(CHALLENGE).unwrap();
    let columns = scaled(&rows(), challenge + QM31::from(M31::ONE));
    session.commit(&slices(&columns)).unwrap();
    assert_eq!(session.finish(), Err(ProverError::Constraints));
}

/// Computes an [`Interaction`] with `absorbed` elements to absorb, unique to these rows.
fn interaction(rows: &[M31], challenge: QM31, absorbed: usize) -> Interaction {
    let sum = rows.iter().fold(QM31::ZERO, |sum, &x| sum + challenge * QM31::from(x));
    Interaction { absorbed: vec![sum; absorbed], columns: scaled(rows, challenge), ..Interaction::default() }
}

/// Proves `rows` op by op, absorbing this number of elements before committing to interaction columns.
fn single(q: &AnyQueue, rows: &[M31], absorbed: usize) -> Proof {
    let mut prover = prover(q);
    let mut session = prover.begin(q).unwrap();
    session.commit_preprocessed().unwrap();
    session.commit(&[rows]).unwrap();
    session.draw_relation(CHALLENGE).unwrap();
    let Interaction { absorbed, columns, .. } = interaction(rows, session.challenges().unwrap()[0], absorbed);
    if !absorbed.is_empty() {
        session.mix_felts(&absorbed).unwrap();
    }
    session.commit(&slices(&columns)).unwrap();
    session.finish().unwrap()
}

fn begin<'p>(session: ProofSession<'p, AnyQueue>) -> Result<ProofSession<'p, AnyQueue>, ProverError> {
    host_columns::begin(session, CHALLENGE)
}

/// A proof of `rows` with a pair of graphs.
fn paired(
    q: &AnyQueue,
    prover: &mut Prover<AnyQueue>,
    pair: &mut ProofGraphPair<AnyQueue>,
    rows: &[M31],
    absorbed: usize,
) -> Result<Proof, ProverError> {
    prover.load(q, &[rows])?;
    let interact = |challenges: &[QM31]| Ok::<_, ProverError>(interaction(rows, challenges[0], absorbed));
    pair.submit(prover, q, &[], begin, interact, finish)?.wait()?.proof()
}

#[test]
fn a_proof_with_interaction_columns_of_the_host_is_two_submissions_and_two_waits() {
    let (_machine, q) = simulated();
    for residency in [Residency::Full, Residency::Blocks(2)] {
        let (mut prover, mut pair) = (prover_with(&q, residency), ProofGraphPair::new());
        for round in 0..6 {
            let rows = rows_of(round);
            let expected = single(&q, &rows, 1);
            q.finish().unwrap();
            let before = q.submissions();
            assert_eq!(paired(&q, &mut prover, &mut pair, &rows, 1).unwrap(), expected, "{residency:?}, {round}");
            let made = q.submissions() - before;
            assert_eq!((made.waits, pair.is_recorded()), (2, round > 0), "{residency:?}, {round}: {made:?}");
            // The second proof is recorded, op by op.
            if round > 1 {
                assert_eq!((made.launches, made.replays), (0, 2), "{residency:?}, {round}: {made:?}");
            }
        }
    }
    // What cannot be recorded is made op by op.
    for (q, residency) in [(simulated_queue(None), Residency::Host(2)), (processor(), Residency::Full)] {
        let (mut prover, mut pair) = (prover_with(&q, residency), ProofGraphPair::new());
        for seed in 0..3 {
            let rows = rows_of(seed);
            assert_eq!(paired(&q, &mut prover, &mut pair, &rows, 2).unwrap(), single(&q, &rows, 2));
        }
        assert!(!pair.is_recorded());
    }
}

#[test]
fn graphs_of_a_pair_are_made_anew_when_more_is_absorbed_or_another_session_absorbs_something() {
    let (_machine, q) = simulated();
    let (mut prover, mut pair) = (prover(&q), ProofGraphPair::new());
    let mut is_recorded = Vec::new();
    for (round, absorbed) in [1, 1, 2, 2, 2, 2, 1, 1, 1].into_iter().enumerate() {
        let rows = rows_of(round as u32);
        assert_eq!(
            paired(&q, &mut prover, &mut pair, &rows, absorbed).unwrap(),
            single(&q, &rows, absorbed),
            "{round}"
        );
        is_recorded.push(pair.is_recorded());
    }
    let rounds = |recorded: [u8; 9]| recorded.map(|recorded| recorded == 1).to_vec();
    assert_eq!(is_recorded, rounds([0, 1, 0, 0, 1, 1, 0, 1, 1]));
    // A manual session that absorbs more elements replaces the memory of the pair's elements.
    let rows = rows_of(100);
    prover.load(&q, &[&rows]).unwrap();
    let mut session = begin(prover.begin(&q).unwrap()).unwrap();
    let challenge = session.challenges().unwrap()[0];
    session.load_interaction(&interaction(&rows, challenge, 3)).unwrap();
    let proof = finish(session).unwrap().wait().unwrap().proof().unwrap();
    assert_eq!(proof, single(&q, &rows, 3));
    for round in 0..3 {
        let rows = rows_of(round);
        assert_eq!(paired(&q, &mut prover, &mut pair, &rows, 1).unwrap(), single(&q, &rows, 1), "{round}");
    }
    assert!(pair.is_recorded());
    // Pairs that absorb other numbers of elements take turns, and both are replayed.
    let mut other = ProofGraphPair::new();
    for round in 0..4 {
        let rows = rows_of(round);
        for (pair, absorbed) in [(&mut pair, 1), (&mut other, 2)] {
            let expected = single(&q, &rows, absorbed);
            q.finish().unwrap();
            let before = q.submissions();
            assert_eq!(paired(&q, &mut prover, pair, &rows, absorbed).unwrap(), expected, "{round}");
            let made = q.submissions() - before;
            assert!(round < 2 || (made.launches, made.replays) == (0, 2), "{round}: {made:?}");
        }
    }
    assert!(pair.is_recorded() && other.is_recorded());
}

/// Proves `rows` with a pair of graphs, after absorbing a word that is also the key.
fn saying(q: &AnyQueue, prover: &mut Prover<AnyQueue>, pair: &mut ProofGraphPair<AnyQueue>, word: u32) -> Proof {
    let rows = rows_of(word);
    prover.load(q, &[&rows]).unwrap();
    let interact = |challenges: &[QM31]| Ok::<_, ProverError>(interaction(&rows, challenges[0], 1));
    let submitted = pair.submit(
        prover,
        q,
        &[word],
        |mut session| {
            session.mix_u32s(&[word])?;
            begin(session)
        },
        interact,
        finish,
    );
    submitted.unwrap().wait().unwrap().proof().unwrap()
}

#[test]
fn a_pair_is_of_one_prover_and_one_key() {
    let (_machine, q) = simulated();
    let expected = [7, 8].map(|word| saying(&q, &mut prover(&q), &mut ProofGraphPair::new(), word));
    let [mut first, mut second] = [(); 2].map(|()| prover(&q));
    let mut pair = ProofGraphPair::new();
    for (word, expected) in [7, 8, 7].into_iter().zip([&expected[0], &expected[1], &expected[0]]) {
        for prover in [&mut first, &mut second] {
            for is_recorded in [false, true, true] {
                assert_eq!(saying(&q, prover, &mut pair, word), *expected);
                assert_eq!(pair.is_recorded(), is_recorded);
            }
        }
    }
}

#[test]
fn whoever_begins_or_finishes_otherwise_is_refused_and_the_next_proof_is_right() {
    #[derive(Debug, PartialEq)]
    enum Refused {
        ByCaller,
        ByProver(ProverError),
    }
    impl From<ProverError> for Refused {
        fn from(error: ProverError) -> Self {
            Self::ByProver(error)
        }
    }

    fn only_preprocessed<'p>(
        mut session: ProofSession<'p, AnyQueue>,
    ) -> Result<ProofSession<'p, AnyQueue>, ProverError> {
        session.commit_preprocessed()?;
        Ok(session)
    }

    let (_machine, q) = simulated();
    let (mut prover, mut pair) = (prover(&q), ProofGraphPair::new());
    for round in 0..4 {
        let rows = rows_of(round);
        let whole = |challenges: &[QM31]| Ok::<_, Refused>(interaction(&rows, challenges[0], 1));
        prover.load(&q, &[&rows]).unwrap();
        let refused = pair.submit(&mut prover, &q, &[], begin, |_| Err(Refused::ByCaller), finish).map(drop);
        assert_eq!(refused, Err(Refused::ByCaller), "{round}");
        let fewer = |challenges: &[QM31]| {
            let mut interaction = whole(challenges)?;
            interaction.columns.pop();
            Ok(interaction)
        };
        prover.load(&q, &[&rows]).unwrap();
        let refused = pair.submit(&mut prover, &q, &[], begin, fewer, finish).map(drop);
        let refusal = ProverError::Columns { tree: 2, expected: 4, got: 3 };
        assert_eq!(refused, Err(Refused::ByProver(refusal)), "{round}");
        if round == 0 {
            prover.load(&q, &[&rows]).unwrap();
            let refused = pair.submit(&mut prover, &q, &[1], only_preprocessed, whole, finish).map(drop);
            assert_eq!(refused, Err(Refused::ByProver(ProverError::Tree { expected: 1, got: 2 })));
            assert_eq!(paired(&q, &mut prover, &mut pair, &rows, 1).unwrap(), single(&q, &rows, 1));
        }
        let refused = pair.submit(&mut prover, &q, &[], begin, whole, finish).map(drop);
        assert_eq!(refused, Err(Refused::ByProver(ProverError::NotLoaded)), "{round}");
        assert_eq!(paired(&q, &mut prover, &mut pair, &rows, 1).unwrap(), single(&q, &rows, 1), "{round}");
    }
    assert!(pair.is_recorded());

    // Columns are loaded for one proof, after its trace.
    let rows = rows();
    prover.load(&q, &[&rows]).unwrap();
    let mut session = prover.begin(&q).unwrap();
    let interaction = interaction(&rows, QM31::ONE, 1);
    assert_eq!(session.commit_loaded(), Err(ProverError::Tree { expected: 0, got: 1 }));
    session.commit_preprocessed().unwrap();
    assert_eq!(session.load_interaction(&interaction), Err(ProverError::Tree { expected: 1, got: 2 }));
    session.commit_loaded().unwrap();
    assert_eq!(session.commit_loaded(), Err(ProverError::NotLoaded));
    session.load_interaction(&interaction).unwrap();
    drop(session);
    let mut session = prover.begin(&q).unwrap();
    session.commit_preprocessed().unwrap();
    session.commit(&[&rows]).unwrap();
    assert_eq!(session.commit_loaded(), Err(ProverError::NotLoaded));
}
