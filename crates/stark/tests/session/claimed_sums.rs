//! Interaction columns that the host makes of a statement with look-ups, with their claimed sums.

use core_types::field::{M31, QM31};
use runtime::AnyQueue;
use stark::{
    Component, Interaction, PcsConfig, Proof, ProofGraph, ProofGraphPair, ProofSession, Protocol, Prover, ProverError,
    Residency,
};
use stark_verifier::{Component as Checked, Inputs, Preprocessed, Verifier};

use crate::{
    common::{processor, simulate, simulated, simulated_queue, slices},
    host_columns::{self, Scaled, Used, VALUES, coordinates, finish, running_sum, scaled},
};

const LOG_ROWS: u32 = 4;
const USED: Used = Used { log_rows: LOG_ROWS };
const SCALED: Scaled = Scaled { log_rows: LOG_ROWS };

fn column(seed: u32) -> Vec<M31> {
    (0..1 << LOG_ROWS).map(|row| M31::from_u32(row * row + 11 * seed + 1)).collect()
}

/// What goes with the look-ups of `xs`.
fn used(xs: &[M31], challenges: &[QM31]) -> Interaction {
    let (sum, values) = running_sum(xs, challenges[0]);
    Interaction { claimed_sums: vec![sum], absorbed: vec![sum], columns: coordinates(&values) }
}

fn prover(q: &AnyQueue, residency: Residency) -> Prover<AnyQueue> {
    let component = Component::new(&USED, &[]).unwrap();
    Prover::with_residency(q, Protocol::V2_3, PcsConfig::default(), &[], vec![component], residency).unwrap()
}

fn begin<'p>(session: ProofSession<'p, AnyQueue>) -> Result<ProofSession<'p, AnyQueue>, ProverError> {
    host_columns::begin(session, VALUES)
}

/// A proof whose look-ups the device makes, and its claimed sum.
fn by_device(q: &AnyQueue, prover: &mut Prover<AnyQueue>, xs: &[M31]) -> (Proof, QM31) {
    prover.load(q, &[xs]).unwrap();
    let mut session = begin(prover.begin(q).unwrap()).unwrap();
    session.commit_look_ups().unwrap();
    let found = session.submit().unwrap().wait().unwrap();
    (found.proof().unwrap(), found.claimed_sums()[0])
}

#[test]
fn look_ups_of_the_host_are_those_of_the_device() {
    let _machine = simulate("");
    let device = || simulated_queue(None);
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
            prover.load(&q, &[&xs]).unwrap();
            let interact = |challenges: &[QM31]| Ok::<_, ProverError>(used(&xs, challenges));
            let found = pair.submit(&mut prover, &q, &[], begin, interact, finish).unwrap().wait().unwrap();
            let sums = found.claimed_sums().to_vec();
            assert_eq!((found.proof().unwrap(), sums), (expected.0.clone(), vec![expected.1]), "{residency:?}, {seed}");

            prover.load(&q, &[&xs]).unwrap();
            let mut session = begin(prover.begin(&q).unwrap()).unwrap();
            let challenges = session.challenges().unwrap();
            session.load_interaction(&used(&xs, &challenges)).unwrap();
            let found = finish(session).unwrap().wait().unwrap();
            assert_eq!((found.claimed_sums(), found.proof().unwrap()), (&[expected.1][..], expected.0));
        }
        assert_eq!(pair.is_recorded(), matches!(q, AnyQueue::Cuda(_)) && residency != Residency::Host(2));
        // Another sum has another mean.
        let xs = column(0);
        prover.load(&q, &[&xs]).unwrap();
        let interact = |challenges: &[QM31]| {
            let right = used(&xs, challenges);
            Ok::<_, ProverError>(Interaction { claimed_sums: vec![QM31::ONE], ..right })
        };
        let found = pair.submit(&mut prover, &q, &[], begin, interact, finish).unwrap().wait().unwrap();
        assert_eq!(found.proof().map(drop), Err(ProverError::Constraints));
    }
}

#[test]
fn a_component_with_look_ups_may_stand_beside_one_with_columns_of_its_own() {
    let ((_machine, q), config) = (simulated(), PcsConfig::default());
    let components = || vec![Component::new(&USED, &[]).unwrap(), Component::new(&SCALED, &[]).unwrap()];
    let mut prover = Prover::new(&q, Protocol::V2_3, config, &[], components()).unwrap();
    let mut pair = ProofGraphPair::new();
    for seed in 0..4 {
        let (xs, ys) = (column(seed), column(seed + 9));
        prover.load(&q, &[&xs, &ys]).unwrap();
        let mut session = begin(prover.begin(&q).unwrap()).unwrap();
        let refused = Err(ProverError::Interaction { component: 1, expected: 0, got: 4 });
        assert_eq!(session.commit_look_ups(), refused);
        let interact = |challenges: &[QM31]| {
            let Interaction { mut claimed_sums, absorbed, mut columns } = used(&xs, challenges);
            columns.extend(scaled(&ys, challenges[0]));
            claimed_sums.push(QM31::ZERO);
            Ok::<_, ProverError>(Interaction { claimed_sums, absorbed, columns })
        };
        prover.load(&q, &[&xs, &ys]).unwrap();
        let found = pair.submit(&mut prover, &q, &[], begin, interact, finish).unwrap().wait().unwrap();
        let (sums, proof) = (found.claimed_sums().to_vec(), found.proof().unwrap());

        let checked = vec![Checked::new(&USED, &[]), Checked::new(&SCALED, &[])];
        let verifier = Verifier::new(Protocol::V2_3, config, Preprocessed::default(), checked).unwrap();
        let mut session = verifier.begin(&proof).unwrap();
        session.commit();
        session.commit();
        let challenges = session.channel().draw_relation(VALUES);
        assert_eq!(running_sum(&xs, challenges[0]).0, sums[0]);
        session.channel().mix_felts(&sums[..1]);
        session.commit();
        let inputs = [sums[0], QM31::ZERO].map(|claimed_sum| Inputs { challenges: challenges.clone(), claimed_sum });
        session.finish(&inputs).unwrap();
    }
    assert!(pair.is_recorded());
}

#[test]
fn columns_without_claimed_sums_and_columns_in_a_graph_are_refused() {
    let (_machine, q) = simulated();
    let (xs, mut prover) = (column(1), prover(&q, Residency::Full));
    let expected = by_device(&q, &mut prover, &xs).0;
    let mut pair = ProofGraphPair::new();
    let right = |challenges: &[QM31]| Ok::<_, ProverError>(used(&xs, challenges));
    let prove = |prover: &mut Prover<AnyQueue>, pair: &mut ProofGraphPair<AnyQueue>| {
        prover.load(&q, &[&xs])?;
        pair.submit(prover, &q, &[], begin, right, finish)?.wait()?.proof()
    };
    for round in 0..3 {
        prover.load(&q, &[&xs]).unwrap();
        let mut session = begin(prover.begin(&q).unwrap()).unwrap();
        let challenges = session.challenges().unwrap();
        let interaction = used(&xs, &challenges);
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
            assert_eq!(prove(&mut prover, &mut pair).as_ref(), Ok(&expected), "{round}");
        }
    }
}
