//! Interaction columns that the host makes of a statement with look-ups, with their claimed sums.

use backend_api::Counted as _;
use core_types::field::{M31, QM31};
use runtime::{AnyQueue, Choice};
use stark::{
    Component, Interaction, PcsConfig, Proof, ProofGraph, ProofGraphPair, ProofSession, Protocol, Prover, ProverError,
    Residency,
};
use stark_verifier::Component as Checked;

use crate::{
    common::{open, processor, simulate, simulated, slices},
    host_columns::{self, Scaled, Used, VALUES, begin, coordinates, finish, paired, running_sum, scaled, verify},
};

const LOG_ROWS: u32 = 4;
const USED: Used = Used { log_rows: LOG_ROWS };
const SCALED: Scaled = Scaled { log_rows: LOG_ROWS, copies: 0 };

fn column(seed: u32) -> Vec<M31> {
    (0..1 << LOG_ROWS).map(|row| M31::from_u32(row * row + 11 * seed + 1)).collect()
}

/// What goes with the look-ups of `xs`.
fn used(xs: &[M31], challenges: &[QM31]) -> Interaction {
    let (sum, values) = running_sum(xs, challenges[0]);
    Interaction { claimed_sums: vec![sum], absorbed: vec![sum], columns: coordinates(&values) }
}

fn prover(q: &AnyQueue, residency: Residency) -> Prover<AnyQueue> {
    host_columns::prover(q, &USED, residency)
}

/// A session that has committed to `columns` and drawn its challenge.
fn begun<'p>(q: &'p AnyQueue, prover: &'p mut Prover<AnyQueue>, columns: &[&[M31]]) -> ProofSession<'p, AnyQueue> {
    prover.load(q, columns).unwrap();
    begin(prover.begin(q).unwrap()).unwrap()
}

/// A proof whose look-ups the device makes, and its claimed sums.
fn by_device(q: &AnyQueue, prover: &mut Prover<AnyQueue>, xs: &[M31]) -> (Proof, Vec<QM31>) {
    let mut session = begun(q, prover, &[xs]);
    session.commit_look_ups().unwrap();
    let found = session.submit().unwrap().wait().unwrap();
    let sums = found.claimed_sums().to_vec();
    (found.proof().unwrap(), sums)
}

#[test]
fn look_ups_of_the_host_are_those_of_the_device() {
    let _machine = simulate("");
    let device = || open(Choice::Sim, None);
    for (q, residency) in [
        (device(), Residency::Full),
        (device(), Residency::Blocks(2)),
        (device(), Residency::Host(2)),
        (processor(), Residency::Full),
    ] {
        let (mut prover, mut pair) = (prover(&q, residency), ProofGraphPair::new());
        for seed in 0..5 {
            let (xs, others) = (column(seed), column(seed + 50));
            let expected = by_device(&q, &mut self::prover(&q, Residency::Full), &xs);
            // The claims of a proof of other rows do not leak into the next proof.
            assert_ne!(by_device(&q, &mut prover, &others).1, expected.1);
            let found = paired(&q, &mut prover, &mut pair, &[&xs], |challenges| Ok(used(&xs, challenges)));
            assert_eq!(found.as_ref(), Ok(&expected), "{residency:?}, {seed}");

            let mut session = begun(&q, &mut prover, &[&xs]);
            let challenges = session.challenges().unwrap();
            session.load_interaction(&used(&xs, &challenges)).unwrap();
            let found = finish(session).unwrap().wait().unwrap();
            assert_eq!((found.claimed_sums(), found.proof().unwrap()), (&expected.1[..], expected.0));
        }
        assert_eq!(pair.is_recorded(), matches!(q, AnyQueue::Cuda(_)) && residency != Residency::Host(2));
        // Another sum has another mean.
        let xs = column(0);
        let interact = |challenges: &[QM31]| Ok(Interaction { claimed_sums: vec![QM31::ONE], ..used(&xs, challenges) });
        assert_eq!(paired(&q, &mut prover, &mut pair, &[&xs], interact), Err(ProverError::Constraints));
    }
}

#[test]
fn the_host_waits_once_for_a_proof_and_once_for_claimed_sums_that_are_asked_for() {
    let ((_machine, q), xs) = (simulated(), column(1));
    let mut prover = prover(&q, Residency::Full);
    let expected = by_device(&q, &mut prover, &xs);
    for is_asked in [false, true] {
        let before = q.submissions();
        let mut session = begun(&q, &mut prover, &[&xs]);
        session.commit_look_ups().unwrap();
        if is_asked {
            assert_eq!(session.claimed_sums().unwrap(), expected.1);
        }
        assert_eq!(session.finish().unwrap(), expected.0);
        let made = q.submissions() - before;
        assert_eq!((made.waits, made.replays), (1 + u64::from(is_asked), 0), "{made:?}");
        assert!(made.launches > 0 && made.copies > 0, "{made:?}");
    }
}

#[test]
fn a_component_with_look_ups_may_stand_beside_one_with_columns_of_its_own() {
    let (_machine, q) = simulated();
    let components = vec![Component::new(&USED, &[]).unwrap(), Component::new(&SCALED, &[]).unwrap()];
    let mut prover = Prover::new(&q, Protocol::V2_3, PcsConfig::default(), &[], components).unwrap();
    let mut pair = ProofGraphPair::new();
    for seed in 0..4 {
        let (xs, ys) = (column(seed), column(seed + 9));
        let refused = Err(ProverError::Interaction { component: 1, expected: 0, got: 4 });
        assert_eq!(begun(&q, &mut prover, &[&xs, &ys]).commit_look_ups(), refused);
        let interact = |challenges: &[QM31]| {
            let Interaction { mut claimed_sums, absorbed, mut columns } = used(&xs, challenges);
            columns.extend(scaled(&ys, challenges[0]));
            claimed_sums.push(QM31::ZERO);
            Ok(Interaction { claimed_sums, absorbed, columns })
        };
        let (proof, sums) = paired(&q, &mut prover, &mut pair, &[&xs, &ys], interact).unwrap();
        let checked = vec![Checked::new(&USED, &[]), Checked::new(&SCALED, &[])];
        let challenges = verify(checked, &proof, &[VALUES], &sums[..1], &[sums[0], QM31::ZERO]);
        assert_eq!(running_sum(&xs, challenges[0]).0, sums[0]);
    }
    assert!(pair.is_recorded());
}

#[test]
fn columns_without_claimed_sums_and_columns_in_a_graph_are_refused() {
    let (_machine, q) = simulated();
    let (xs, mut prover, mut pair) = (column(1), prover(&q, Residency::Full), ProofGraphPair::new());
    let expected = by_device(&q, &mut prover, &xs);
    let right = |challenges: &[QM31]| Ok::<_, ProverError>(used(&xs, challenges));
    for round in 0..3 {
        let mut session = begun(&q, &mut prover, &[&xs]);
        let interaction = right(&session.challenges().unwrap()).unwrap();
        let columns = slices(&interaction.columns);
        assert_eq!(session.commit(&columns), Err(ProverError::ClaimedSums { expected: 1, got: 0 }));
        for got in [0, 2] {
            let refused = Interaction { claimed_sums: vec![QM31::ONE; got], ..interaction.clone() };
            assert_eq!(session.load_interaction(&refused), Err(ProverError::ClaimedSums { expected: 1, got }));
        }

        // Columns of the host in a graph, in either part of a pair or in one that is whole, at each proof alike.
        let load = |session: &mut ProofSession<'_, AnyQueue>| session.load_interaction(&interaction);
        prover.load(&q, &[&xs]).unwrap();
        let whole = ProofGraph::new().submit(&mut prover, &q, &[], |session| {
            let mut session = begin(session)?;
            load(&mut session)?;
            finish(session)
        });
        assert_eq!(whole.map(drop), Err(ProverError::InGraph), "{round}");
        prover.load(&q, &[&xs]).unwrap();
        let begins = pair.submit(
            &mut prover,
            &q,
            &[1],
            |session| {
                let mut session = begin(session)?;
                load(&mut session)?;
                Ok(session)
            },
            right,
            finish,
        );
        assert_eq!(begins.map(drop), Err(ProverError::InGraph), "{round}");
        prover.load(&q, &[&xs]).unwrap();
        let finishes = pair.submit(&mut prover, &q, &[2], begin, right, |mut session| {
            load(&mut session)?;
            finish(session)
        });
        assert_eq!(finishes.map(drop), Err(ProverError::InGraph), "{round}");
        // A tree too many before the host makes its columns.
        prover.load(&q, &[&xs]).unwrap();
        let more = pair.submit(
            &mut prover,
            &q,
            &[3],
            |session| {
                let mut session = begin(session)?;
                session.commit_look_ups()?;
                Ok(session)
            },
            right,
            finish,
        );
        assert_eq!(more.map(drop), Err(ProverError::Tree { expected: 3, got: 2 }), "{round}");
        // What was recorded for this key is left as it was, or made anew.
        for _ in 0..round {
            let proven = paired(&q, &mut prover, &mut pair, &[&xs], right);
            assert_eq!(proven.as_ref(), Ok(&expected), "{round}");
        }
    }
}
