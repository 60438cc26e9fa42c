//! Interaction columns that the caller makes on the host, from challenges that it waits for.

use backend_api::{Counted as _, Queue as _};
use core_types::field::{M31, QM31};
use runtime::{AnyQueue, Choice};
use stark::{Interaction, Proof, ProofGraphPair, ProofSession, Prover, ProverError, Residency};
use stark_verifier::Component as Checked;

use crate::{
    common::{open, processor, simulated, slices},
    host_columns::{self, Scaled, VALUES, begin, finish, only_preprocessed, scaled, verify},
};

const SCALED: Scaled = Scaled { log_rows: 5, copies: 0 };

fn prover(q: &AnyQueue, residency: Residency) -> Prover<AnyQueue> {
    host_columns::prover(q, &SCALED, residency)
}

fn rows(seed: u32) -> Vec<M31> {
    (0..32).map(|row| M31::from_u32(row * row + seed)).collect()
}

/// A session that has committed to `rows`, and its challenge.
fn committed<'p>(
    q: &'p AnyQueue,
    prover: &'p mut Prover<AnyQueue>,
    rows: &[M31],
) -> (ProofSession<'p, AnyQueue>, QM31) {
    let mut session = prover.begin(q).unwrap();
    session.commit_preprocessed().unwrap();
    session.commit(&[rows]).unwrap();
    session.draw_relation(VALUES).unwrap();
    let challenge = session.challenges().unwrap()[0];
    (session, challenge)
}

/// Computes an [`Interaction`] with `absorbed` elements to absorb, unique to these rows.
fn interaction(rows: &[M31], challenge: QM31, absorbed: usize) -> Interaction {
    let sum = rows.iter().fold(QM31::ZERO, |sum, &x| sum + challenge * QM31::from(x));
    Interaction { absorbed: vec![sum; absorbed], columns: scaled(rows, challenge), ..Interaction::default() }
}

/// Proves `rows` op by op, absorbing this number of elements before committing to interaction columns.
///
/// Returns the challenge as well.
fn single(q: &AnyQueue, prover: &mut Prover<AnyQueue>, rows: &[M31], absorbed: usize) -> (Proof, QM31) {
    let (mut session, challenge) = committed(q, prover, rows);
    let Interaction { absorbed, columns, .. } = interaction(rows, challenge, absorbed);
    if !absorbed.is_empty() {
        session.mix_felts(&absorbed).unwrap();
    }
    session.commit(&slices(&columns)).unwrap();
    (session.finish().unwrap(), challenge)
}

/// As [`single`], with another prover.
fn expected(q: &AnyQueue, rows: &[M31], absorbed: usize) -> Proof {
    single(q, &mut prover(q, Residency::Full), rows, absorbed).0
}

/// A proof of `rows` with a pair of graphs.
fn paired(
    q: &AnyQueue,
    prover: &mut Prover<AnyQueue>,
    pair: &mut ProofGraphPair<AnyQueue>,
    rows: &[M31],
    absorbed: usize,
) -> Proof {
    let interact = |challenges: &[QM31]| Ok(interaction(rows, challenges[0], absorbed));
    host_columns::paired(q, prover, pair, &[rows], interact).unwrap().0
}

#[test]
fn interaction_columns_that_the_host_makes_cost_one_wait_more() {
    let ((_machine, q), rows) = (simulated(), rows(3));
    let mut device = prover(&q, Residency::Full);
    let made = single(&q, &mut device, &rows, 0);
    let before = q.submissions();
    assert_eq!(single(&q, &mut device, &rows, 0), made);
    assert_eq!((q.submissions() - before).waits, 2);
    let (proof, challenge) = made;
    assert_eq!(expected(&processor(), &rows, 0), proof);
    let checked = vec![Checked::new(&SCALED, &[])];
    assert_eq!(verify(checked, &proof, &[VALUES], &[], &[QM31::ZERO]), [challenge]);
}

#[test]
fn interaction_columns_beside_those_of_look_ups_are_refused_and_the_host_can_make_them() {
    let (q, rows) = (processor(), rows(3));
    let mut prover = prover(&q, Residency::Full);
    let (mut session, challenge) = committed(&q, &mut prover, &rows);
    assert_eq!(session.commit_look_ups(), Err(ProverError::Interaction { component: 0, expected: 0, got: 4 }));
    session.commit(&slices(&scaled(&rows, challenge))).unwrap();
    assert!(session.finish().is_ok());
    // Interaction columns made from another challenge break the constraint.
    let (mut session, challenge) = committed(&q, &mut prover, &rows);
    session.commit(&slices(&scaled(&rows, challenge + QM31::ONE))).unwrap();
    assert_eq!(session.finish(), Err(ProverError::Constraints));
}

#[test]
fn a_proof_with_interaction_columns_of_the_host_is_two_submissions_and_two_waits() {
    let (_machine, q) = simulated();
    for residency in [Residency::Full, Residency::Blocks(2)] {
        let (mut prover, mut pair) = (prover(&q, residency), ProofGraphPair::new());
        for round in 0..6 {
            let rows = rows(round);
            let expected = expected(&q, &rows, 1);
            q.finish().unwrap();
            let before = q.submissions();
            assert_eq!(paired(&q, &mut prover, &mut pair, &rows, 1), expected, "{residency:?}, {round}");
            let made = q.submissions() - before;
            assert_eq!((made.waits, pair.is_recorded()), (2, round > 0), "{residency:?}, {round}: {made:?}");
            // The second proof is recorded, op by op.
            if round > 1 {
                assert_eq!((made.launches, made.replays), (0, 2), "{residency:?}, {round}: {made:?}");
            }
        }
    }
    // What cannot be recorded is made op by op.
    for (q, residency) in [(open(Choice::Sim, None), Residency::Host(2)), (processor(), Residency::Full)] {
        let (mut prover, mut pair) = (prover(&q, residency), ProofGraphPair::new());
        for seed in 0..3 {
            let rows = rows(seed);
            assert_eq!(paired(&q, &mut prover, &mut pair, &rows, 2), expected(&q, &rows, 2));
        }
        assert!(!pair.is_recorded());
        prover.load(&q, &[&rows(3)]).unwrap();
        let none = |_: &[QM31]| Ok::<_, ProverError>(Interaction::default());
        let fewer = pair.submit(&mut prover, &q, &[], only_preprocessed, none, finish);
        assert_eq!(fewer.map(drop), Err(ProverError::Tree { expected: 1, got: 2 }));
    }
}

#[test]
fn graphs_of_a_pair_are_made_anew_when_more_is_absorbed_or_another_session_absorbs_something() {
    let (_machine, q) = simulated();
    let (mut prover, mut pair) = (prover(&q, Residency::Full), ProofGraphPair::new());
    let mut is_recorded = Vec::new();
    for (round, absorbed) in (0..).zip([1, 1, 2, 2, 2, 2, 1, 1, 1]) {
        let rows = rows(round);
        let proof = paired(&q, &mut prover, &mut pair, &rows, absorbed);
        assert_eq!(proof, expected(&q, &rows, absorbed), "{round}");
        is_recorded.push(pair.is_recorded());
    }
    assert_eq!(is_recorded, [0, 1, 0, 0, 1, 1, 0, 1, 1].map(|recorded| recorded == 1));
    // A manual session that absorbs more elements replaces the memory of the pair's elements.
    let more = rows(100);
    prover.load(&q, &[&more]).unwrap();
    let mut session = begin(prover.begin(&q).unwrap()).unwrap();
    let challenge = session.challenges().unwrap()[0];
    session.load_interaction(&interaction(&more, challenge, 3)).unwrap();
    assert_eq!(finish(session).unwrap().wait().unwrap().proof().unwrap(), expected(&q, &more, 3));
    for round in 0..3 {
        let rows = rows(round);
        assert_eq!(paired(&q, &mut prover, &mut pair, &rows, 1), expected(&q, &rows, 1), "{round}");
    }
    assert!(pair.is_recorded());
    // Pairs that absorb other numbers of elements take turns, and both are replayed.
    let mut other = ProofGraphPair::new();
    for round in 0..4 {
        let rows = rows(round);
        for (pair, absorbed) in [(&mut pair, 1), (&mut other, 2)] {
            let expected = expected(&q, &rows, absorbed);
            q.finish().unwrap();
            let before = q.submissions();
            assert_eq!(paired(&q, &mut prover, pair, &rows, absorbed), expected, "{round}");
            let made = q.submissions() - before;
            assert!(round < 2 || (made.launches, made.replays) == (0, 2), "{round}: {made:?}");
        }
    }
    assert!(pair.is_recorded() && other.is_recorded());
}

/// Proves `rows` with a pair of graphs, after absorbing a word that is also the key.
fn saying(q: &AnyQueue, prover: &mut Prover<AnyQueue>, pair: &mut ProofGraphPair<AnyQueue>, word: u32) -> Proof {
    let rows = rows(word);
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
    let new = || prover(&q, Residency::Full);
    let expected = [7, 8].map(|word| saying(&q, &mut new(), &mut ProofGraphPair::new(), word));
    let [mut first, mut second] = [new(), new()];
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

    let (_machine, q) = simulated();
    let (mut prover, mut pair) = (prover(&q, Residency::Full), ProofGraphPair::new());
    for round in 0..4 {
        let rows = rows(round);
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
            assert_eq!(paired(&q, &mut prover, &mut pair, &rows, 1), expected(&q, &rows, 1));
        }
        let refused = pair.submit(&mut prover, &q, &[], begin, whole, finish).map(drop);
        assert_eq!(refused, Err(Refused::ByProver(ProverError::NotLoaded)), "{round}");
        assert_eq!(paired(&q, &mut prover, &mut pair, &rows, 1), expected(&q, &rows, 1), "{round}");
    }
    assert!(pair.is_recorded());

    // Columns are loaded for one proof, after its trace.
    let rows = rows(3);
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
