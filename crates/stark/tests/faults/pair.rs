//! Proofs whose interaction columns the host makes, between two parts that are recorded and replayed.

use backend_api::Queue as _;
use core_types::air::{Air, Relation, Row, Tree};
use cuda_sim::driver::Rule;
use runtime::{AnyQueue, Choice};
use stark::{M31, PcsConfig, Protocol, ProverError, QM31};
use stark_prover::{Component, Interaction, Proof, ProofGraphPair, Prover, Session, Submitted};

use crate::{is_refusal, made, open, simulate, turns};

const CHALLENGE: Relation = Relation::new(0, 0);

/// A column, and beside it the same times a challenge.
struct Scaled;

impl Air for Scaled {
    fn log_rows(&self) -> u32 {
        3
    }

    fn eval<R: Row>(&self, row: &mut R) {
        let x = row.column();
        let [scaled] = row.mask_ext(Tree::INTERACTION, [0]);
        let challenge = row.challenge(0);
        row.constraint_ext(scaled - challenge * R::E::from(x));
    }
}

fn rows() -> Vec<M31> {
    (0..8).map(|row| M31::from_u32(row * row + 3)).collect()
}

fn interact(challenges: &[QM31]) -> Result<Interaction, ProverError> {
    let scaled: Vec<_> = rows().iter().map(|&x| (challenges[0] * QM31::from(x)).coordinates()).collect();
    let column = |coordinate: usize| scaled.iter().map(|value| value[coordinate]).collect();
    Ok(Interaction { said: vec![challenges[0]], columns: (0..4).map(column).collect() })
}

fn begin<'p>(mut session: Session<'p, AnyQueue>) -> Result<Session<'p, AnyQueue>, ProverError> {
    session.commit_preprocessed()?;
    session.commit_loaded()?;
    session.draw_relation(CHALLENGE)?;
    Ok(session)
}

fn finish<'p>(mut session: Session<'p, AnyQueue>) -> Result<Submitted<'p, AnyQueue>, ProverError> {
    session.mix_loaded()?;
    session.commit_loaded()?;
    session.submit()
}

fn prover(q: &AnyQueue) -> Prover<AnyQueue> {
    let component = Component::new(&Scaled, &[]).unwrap();
    Prover::new(q, Protocol::V2_3, PcsConfig::default(), &[], vec![component]).unwrap()
}

fn prove(
    q: &AnyQueue,
    prover: &mut Prover<AnyQueue>,
    pair: &mut ProofGraphPair<AnyQueue>,
) -> Result<Proof, ProverError> {
    prover.load(q, &[&rows()])?;
    pair.submit(prover, q, &[], begin, interact, finish)?.wait()?.proof()
}

#[test]
fn whatever_call_is_refused_a_pair_of_graphs_makes_the_right_proof_or_a_typed_error() {
    let q = open(Choice::Cpu, None);
    let expected = prove(&q, &mut prover(&q), &mut ProofGraphPair::new()).unwrap();
    let session = simulate();
    let q = open(Choice::Sim, None);
    let mut prover = prover(&q);
    for proofs_before in 0..3 {
        let pair_after = |prover: &mut Prover<AnyQueue>| {
            let mut pair = ProofGraphPair::new();
            (0..proofs_before).for_each(|_| assert_eq!(prove(&q, prover, &mut pair).as_ref(), Ok(&expected)));
            q.finish().unwrap();
            pair
        };
        let mut pair = pair_after(&mut prover);
        let calls = made(&session, || drop(prove(&q, &mut prover, &mut pair).unwrap()));
        drop(pair);
        let (live, mut refused) = (q.budget().live_bytes(), 0);
        for (call, count) in calls {
            for (code, turn) in turns(count) {
                let (rule, mut pair) = (format!("fail={code}@{call}:{turn}"), pair_after(&mut prover));
                session.inject(rule.parse::<Rule>().unwrap());
                let proven = prove(&q, &mut prover, &mut pair);
                session.clear_faults();
                match proven {
                    Ok(proof) => assert_eq!(proof, expected, "{proofs_before}, {rule}"),
                    Err(error) => {
                        assert!(is_refusal(&error.into(), code), "{proofs_before}, {rule}");
                        refused += 1;
                        if turn % 5 == 1 || turn == count {
                            assert_eq!(prove(&q, &mut prover, &mut pair).as_ref(), Ok(&expected), "after {rule}");
                        }
                    }
                }
                drop(pair);
                q.finish().unwrap();
                assert_eq!(q.budget().live_bytes(), live, "{proofs_before}, {rule}");
            }
        }
        assert!(refused > [80, 80, 8][proofs_before], "{proofs_before}: {refused}");
    }
}
