//! Proofs whose interaction columns the host makes, between two parts that are recorded and replayed.

use std::collections::BTreeMap;

use backend_api::Queue as _;
use runtime::{AnyQueue, Choice};
use stark::{Component, Interaction, M31, Proof, ProofGraphPair, Protocol, Prover, ProverError, QM31};

use crate::{
    common::{calls_of, inject, is_loss, is_refusal, little_work, open, processor, simulate},
    faults::{TestDevice, turns, turns_but_of_contexts},
    host_columns::{Scaled, paired, scaled},
};

const SCALED: Scaled = Scaled { log_rows: 3, copies: 0 };

/// Traces, each with its number of absorbed elements: a different one per proof, so that no answers are
/// confused.
#[derive(Clone, Copy)]
struct SeededTrace {
    seed: u32,
    absorbed: usize,
}

/// The traces before a refusal, during it, and after it.
const BEFORE: SeededTrace = SeededTrace { seed: 3, absorbed: 1 };
const REFUSED: SeededTrace = SeededTrace { seed: 40, absorbed: 1 };
const AFTER: SeededTrace = SeededTrace { seed: 500, absorbed: 1 };

impl SeededTrace {
    fn rows(self) -> Vec<M31> {
        (0..8).map(|row| M31::from_u32(row * row + self.seed)).collect()
    }

    fn interact(self, challenges: &[QM31]) -> Result<Interaction, ProverError> {
        let columns = scaled(&self.rows(), challenges[0]);
        let absorbed = vec![challenges[0] * QM31::from(M31::from_u32(self.seed)); self.absorbed];
        Ok(Interaction { absorbed, columns, ..Interaction::default() })
    }
}

fn prover(q: &AnyQueue) -> Prover<AnyQueue> {
    let component = Component::new(&SCALED, &[]).unwrap();
    Prover::new(q, Protocol::V2_3, little_work(), &[], vec![component]).unwrap()
}

fn prove(
    q: &AnyQueue,
    prover: &mut Prover<AnyQueue>,
    pair: &mut ProofGraphPair<AnyQueue>,
    trace: SeededTrace,
) -> Result<Proof, ProverError> {
    paired(q, prover, pair, &[&trace.rows()], |challenges| trace.interact(challenges)).map(|(proof, _)| proof)
}

/// The proof of the processor.
fn expected(trace: SeededTrace) -> Proof {
    let q = processor();
    prove(&q, &mut prover(&q), &mut ProofGraphPair::new(), trace).unwrap()
}

#[test]
fn whatever_call_is_refused_a_pair_of_graphs_makes_the_right_proof_or_a_typed_error() {
    refuse_each_call(REFUSED, [80, 80, 8]);
}

#[test]
fn whatever_call_is_refused_a_pair_that_absorbs_more_than_before_makes_the_right_proof_or_a_typed_error() {
    refuse_each_call(SeededTrace { absorbed: 3, ..REFUSED }, [80, 40, 40]);
}

/// Refuses each call in turn of proofs of `trace`, after none to two of another trace.
///
/// At least `least` refusals are typed errors.
fn refuse_each_call(trace: SeededTrace, least: [u64; 3]) {
    let [before, expected, after] = [BEFORE, trace, AFTER].map(expected);
    let session = simulate("");
    for (proofs_before, least) in least.into_iter().enumerate() {
        // Absorbed elements allocate memory once for each prover.
        let made_after = |q: &AnyQueue| {
            let (mut prover, mut pair) = (prover(q), ProofGraphPair::new());
            for _ in 0..proofs_before {
                assert_eq!(prove(q, &mut prover, &mut pair, BEFORE).as_ref(), Ok(&before));
            }
            q.finish().unwrap();
            (prover, pair)
        };
        let q = open(Choice::Sim, None);
        let (mut prover, mut pair) = made_after(&q);
        let (_, calls) = calls_of(&session, || prove(&q, &mut prover, &mut pair, trace).unwrap());
        drop((prover, pair, q));
        let mut refused = BTreeMap::new();
        for (call, count) in calls {
            let device = TestDevice::open(&session);
            let q = &device.q;
            for (code, turn) in turns_but_of_contexts(call, count) {
                let (rule, (mut prover, mut pair)) = (format!("fail={code}@{call}:{turn}"), made_after(q));
                inject(&session, [&*rule]);
                let proven = prove(q, &mut prover, &mut pair, trace);
                session.clear_faults();
                match proven {
                    Ok(proof) => assert_eq!(proof, expected, "{proofs_before}, {rule}"),
                    Err(error) => {
                        assert!(is_refusal(&error.into(), code), "{proofs_before}, {rule}");
                        *refused.entry(call).or_insert(0) += 1;
                    }
                }
                if turn % 5 == 1 || turn == count {
                    assert_eq!(prove(q, &mut prover, &mut pair, AFTER).as_ref(), Ok(&after), "after {rule}");
                }
                drop((prover, pair));
                q.finish().unwrap();
                assert_eq!(q.budget().live_bytes(), 0, "{proofs_before}, {rule}");
            }
            device.end(call, turns(count).count());
        }
        assert!(refused.values().sum::<u64>() >= least, "{proofs_before}: {refused:?}");
        let of_graphs = if proofs_before == 2 { "cuGraphLaunch" } else { "cuLaunchKernel" };
        for call in ["cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", of_graphs] {
            assert!(refused.contains_key(call), "{call} after {proofs_before}: {refused:?}");
        }
    }
}

#[test]
fn a_device_that_is_lost_during_a_proof_of_a_pair_makes_none_and_keeps_nothing() {
    let before = expected(BEFORE);
    for (proofs_before, rule) in [
        (0, "fail=700@cuLaunchKernel:9"),
        (1, "fail=719@cuLaunchKernel:3"),
        (2, "fail=700@cuGraphLaunch:1"),
        (2, "late=719@cuGraphLaunch:1"),
        (2, "fail=700@cuMemcpyHtoDAsync_v2:2"),
        (2, "late=700@cuGraphLaunch:2"),
    ] {
        let session = simulate("");
        let q = open(Choice::Sim, None);
        let (mut prover, mut pair) = (prover(&q), ProofGraphPair::new());
        for _ in 0..proofs_before {
            assert_eq!(prove(&q, &mut prover, &mut pair, BEFORE).as_ref(), Ok(&before));
        }
        inject(&session, [rule]);
        for trace in [REFUSED, AFTER] {
            let proven = prove(&q, &mut prover, &mut pair, trace);
            let Err(error) = proven.map_err(Into::into) else { panic!("{rule}: there is a proof") };
            assert!(is_loss(&error), "{rule}: {error:?}");
        }
        drop((prover, pair));
        assert_eq!(q.budget().live_bytes(), 0, "{proofs_before}, {rule}");
    }
}
