//! Interaction columns that the host makes of a statement with look-ups, with their claimed sums.

use core_types::{
    air::{Air, LogUp, Relation, Row, Tree, stored_position},
    field::{M31, QM31},
};
use runtime::AnyQueue;
use stark_prover::{
    Component, Interaction, PcsConfig, Proof, ProofGraph, ProofGraphPair, ProofSession, Protocol, Prover, ProverError,
    Residency, Submitted,
};
use stark_verifier::{Component as Checked, Inputs, Preprocessed, Verifier};

use crate::{interaction::processor, vectors::simulated};

const VALUES: Relation = Relation::new(0, 1);
const LOG_ROWS: u32 = 4;

/// Uses its value on each row.
struct Used;

impl Air for Used {
    fn log_rows(&self) -> u32 {
        LOG_ROWS
    }

    fn eval<R: Row>(&self, row: &mut R) {
        let x = row.column();
        let one = R::E::from(R::F::from(M31::ONE));
        let mut entries = LogUp::new(1);
        entries.entry(row, VALUES, one, &[x]);
        entries.finish(row);
    }
}

/// A column, and an interaction column that holds its rows times a challenge.
struct Scaled;

impl Air for Scaled {
    fn log_rows(&self) -> u32 {
        LOG_ROWS
    }

    fn eval<R: Row>(&self, row: &mut R) {
        let x = row.column();
        let [scaled] = row.mask_ext(Tree::INTERACTION, [0]);
        let challenge = row.challenge(0);
        row.constraint_ext(scaled - challenge * R::E::from(x));
    }
}

fn column(seed: u32) -> Vec<M31> {
    (0..1 << LOG_ROWS).map(|row| M31::from_u32(row * row + 11 * seed + 1)).collect()
}

/// The four coordinates of a column.
fn coordinates(values: &[QM31]) -> Vec<Vec<M31>> {
    (0..4).map(|k| values.iter().map(|value| value.coordinates()[k]).collect()).collect()
}

/// Returns the sum of 1 / (x - z) over all rows, and its mean-shifted running sum.
///
/// Row `k` of the running sum is the sum up to it, minus the mean for each row summed.
fn sums(xs: &[M31], z: QM31) -> (QM31, Vec<QM31>) {
    let place = |row: u32| stored_position(row, LOG_ROWS) as usize;
    let fractions: Vec<_> = (0..1 << LOG_ROWS).map(|row| (QM31::from(xs[place(row)]) - z).inverse().unwrap()).collect();
    let sum = fractions.iter().fold(QM31::ZERO, |sum, &fraction| sum + fraction);
    let mean = sum * QM31::from(M31::from_u32(1 << LOG_ROWS).inverse().unwrap());
    let (mut running, mut values) = (QM31::ZERO, vec![QM31::ZERO; xs.len()]);
    for (row, fraction) in (0..).zip(fractions) {
        running = running + fraction - mean;
        values[place(row)] = running;
    }
    (sum, values)
}

/// What goes with the look-ups of `xs`.
fn used(xs: &[M31], challenges: &[QM31]) -> Interaction {
    let (sum, values) = sums(xs, challenges[0]);
    Interaction { claimed_sums: vec![sum], absorbed: vec![sum], columns: coordinates(&values) }
}

fn prover(q: &AnyQueue, residency: Residency) -> Prover<AnyQueue> {
    let component = Component::new(&Used, &[]).unwrap();
    Prover::with_residency(q, Protocol::V2_3, PcsConfig::default(), &[], vec![component], residency).unwrap()
}

fn begin<'p>(mut session: ProofSession<'p, AnyQueue>) -> Result<ProofSession<'p, AnyQueue>, ProverError> {
    session.commit_preprocessed()?;
    session.commit_loaded()?;
    session.draw_relation(VALUES)?;
    Ok(session)
}

fn finish<'p>(mut session: ProofSession<'p, AnyQueue>) -> Result<Submitted<'p, AnyQueue>, ProverError> {
    session.commit_loaded()?;
    session.submit()
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
    for (q, residency) in [
        (simulated(), Residency::Full),
        (simulated(), Residency::Blocks(2)),
        (simulated(), Residency::Host(2)),
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
    let (q, config) = (simulated(), PcsConfig::default());
    let components = || vec![Component::new(&Used, &[]).unwrap(), Component::new(&Scaled, &[]).unwrap()];
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
            let scaled: Vec<_> = ys.iter().map(|&y| challenges[0] * QM31::from(y)).collect();
            columns.extend(coordinates(&scaled));
            claimed_sums.push(QM31::ZERO);
            Ok::<_, ProverError>(Interaction { claimed_sums, absorbed, columns })
        };
        prover.load(&q, &[&xs, &ys]).unwrap();
        let found = pair.submit(&mut prover, &q, &[], begin, interact, finish).unwrap().wait().unwrap();
        let (sums, proof) = (found.claimed_sums().to_vec(), found.proof().unwrap());

        let checked = vec![Checked::new(&Used, &[]), Checked::new(&Scaled, &[])];
        let verifier = Verifier::new(Protocol::V2_3, config, Preprocessed::default(), checked).unwrap();
        let mut session = verifier.begin(&proof).unwrap();
        session.commit();
        session.commit();
        let challenges = session.channel().draw_relation(VALUES);
        assert_eq!(self::sums(&xs, challenges[0]).0, sums[0]);
        session.channel().mix_felts(&sums[..1]);
        session.commit();
        let inputs = [sums[0], QM31::ZERO].map(|claimed_sum| Inputs { challenges: challenges.clone(), claimed_sum });
        session.finish(&inputs).unwrap();
    }
    assert!(pair.is_recorded());
}

#[test]
fn columns_without_claimed_sums_and_columns_in_a_graph_are_refused() {
    let q = simulated();
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
        let columns: Vec<&[M31]> = interaction.columns.iter().map(|column| &column[..]).collect();
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
