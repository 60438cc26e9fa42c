//! Proofs that are replayed are those that are submitted op by op, with fewer calls of the driver.

use backend_api::{Counted as _, Queue as _, Submissions};
use runtime::{AnyQueue, Choice};
use stark::{M31, ProofGraph, ProveError, ProveOptions, ProverError, Residency, Stage, TraceSource};

use crate::{
    common::{little_work, open, processor, simulated},
    samples::{Prover, Sample, prove_from_replayed, prove_replayed},
};

/// The prover of a sample, all in memory.
fn prover<'s>(q: &AnyQueue, sample: &'s Sample) -> Prover<'s, AnyQueue> {
    sample.prover_with(q, Residency::Full).unwrap()
}

/// Wide Fibonacci with other seeds.
fn wide(seed: u32) -> Sample {
    Sample::wide(6, 20, seed)
}

/// What `run` hands to the driver.
fn counted<T>(q: &AnyQueue, run: impl FnOnce() -> T) -> (T, Submissions) {
    q.finish().unwrap();
    let before = q.submissions();
    let made = run();
    (made, q.submissions() - before)
}

/// Proves each sample of a statement three times: op by op and replayed, from columns and witness.
///
/// Holds the counts of the driver's calls.
fn hold(q: &AnyQueue, samples: &[Sample]) {
    for residency in [Residency::Full, Residency::Blocks(4)] {
        hold_with(q, samples, residency);
    }
}

fn hold_with(q: &AnyQueue, samples: &[Sample], residency: Residency) {
    let mut prover = samples[0].prover_with(q, residency).unwrap();
    let [mut graph, mut graph_from] = [(), ()].map(|()| ProofGraph::new());
    for (round, Sample { trace, source, .. }) in samples.iter().cycle().take(3 * samples.len()).enumerate() {
        // A trace that has no proof leaves other answers before each replay.
        let mut broken = trace.clone();
        broken[0][0][0] += M31::ONE;
        let (expected, eager) = counted(q, || prover.prove(q, trace).unwrap());
        let (from, eager_from) = counted(q, || prover.prove_from(q, source).unwrap());
        assert_eq!(from, expected);
        prover.prove(q, &broken).unwrap_err();
        let (proof, replayed) = counted(q, || prove_replayed(&mut prover, q, &mut graph, trace).unwrap());
        assert_eq!(proof, expected, "{round}");
        prover.prove(q, &broken).unwrap_err();
        let (proof, replayed_from) =
            counted(q, || prove_from_replayed(&mut prover, q, &mut graph_from, source).unwrap());
        assert_eq!(proof, expected, "{round}");
        for counts in [eager, eager_from, replayed, replayed_from] {
            assert_eq!(counts.waits, 1, "{round}: {counts:?}");
        }
        // The second is recorded, op by op.
        if round < 2 {
            continue;
        }
        for (replayed, eager) in [(replayed, eager), (replayed_from, eager_from)] {
            assert_eq!((replayed.launches, replayed.replays), (0, 1), "{round}: {replayed:?}");
            assert!(10 * replayed.calls <= eager.calls, "{round}: {replayed:?} instead of {eager:?}");
        }
    }
    assert!(graph.is_recorded() && graph_from.is_recorded());
}

#[test]
fn a_replayed_proof_is_one_submission_and_one_wait() {
    let (_machine, q) = simulated();
    hold(&q, &[1, 2].map(wide));
    hold(&q, &[Sample::steps([4, 5], [9, 1 << 30])]);
    hold(&q, &[Sample::plonk(60, [3, 1 << 30])]);
    assert_eq!(q.budget().live_bytes(), 0);
}

#[test]
fn look_ups_in_tables_and_programs_of_several_kernels_are_replayed_too() {
    let (_machine, q) = simulated();
    let message = |word: u32| Sample::blake2s(&(0..16).map(|block| [word + block; 16]).collect::<Vec<_>>());
    let chain = |word: u32| Sample::poseidon2(4, [word; 16]);
    // Replays equal the processor's proof, whatever another witness, which has no proof, has left before them.
    for [sample, others] in [[7, 9].map(message), [7, 9].map(chain)] {
        let expected = sample.proven(little_work()).unwrap();
        let (mut prover, mut graph) = (prover(&q, &sample), ProofGraph::new());
        for round in 0..3 {
            if round > 0 {
                prover.prove_from(&q, &others.source).unwrap_err();
            }
            let replay = || prove_from_replayed(&mut prover, &q, &mut graph, &sample.source).unwrap();
            let (proof, counts) = counted(&q, replay);
            assert!(proof == expected, "{round}");
            assert_eq!((counts.waits, counts.replays), (1, u64::from(round > 0)), "{round}: {counts:?}");
        }
    }
}

#[test]
fn a_graph_is_made_anew_for_another_prover_and_kept_after_a_refused_trace() {
    let (_machine, q) = simulated();
    let mut graph = ProofGraph::new();
    // The shape is the same, but memory and public words are not.
    let samples = [[1, 2], [1, 3]].map(|first| Sample::steps([4, 5], first));
    let mut provers = samples.each_ref().map(|sample| prover(&q, sample));
    let expected = [0, 1].map(|k| provers[k].prove(&q, &samples[k].trace).unwrap());
    for k in [0, 1, 0, 1].into_iter().flat_map(|k| [k; 3]) {
        assert_eq!(prove_replayed(&mut provers[k], &q, &mut graph, &samples[k].trace).as_ref(), Ok(&expected[k]));
    }
    assert!(graph.is_recorded());
    let ([machine, other], [_, mut second]) = (&samples, provers);
    let refused = prove_replayed(&mut second, &q, &mut graph, &other.trace[1..]);
    assert_eq!(refused, Err(ProveError::Components { expected: 2, got: 1 }));
    assert_eq!(prove_replayed(&mut second, &q, &mut graph, &machine.trace), Err(ProveError::Sums));
    let mut broken = other.trace.clone();
    broken[1][0][3] += M31::ONE;
    let refused = prove_replayed(&mut second, &q, &mut graph, &broken);
    assert!(
        matches!(refused, Err(ProveError::Sums | ProveError::Prover(ProverError::Constraints))),
        "a trace that breaks constraints: {refused:?}"
    );
    assert!(graph.is_recorded());
    let (proof, counts) = counted(&q, || prove_replayed(&mut second, &q, &mut graph, &other.trace).unwrap());
    assert_eq!((&proof, counts.replays), (&expected[1], 1));
}

#[test]
fn a_graph_is_made_anew_where_the_trace_is_made_in_another_way() {
    let ((_machine, q), first) = (simulated(), wide(0));
    let (mut prover, mut graph) = (prover(&q, &first), ProofGraph::new());
    for seed in 1..4 {
        let (Sample { trace, source, .. }, other) = (wide(seed), wide(seed + 9).trace);
        let expected = prover.prove(&q, &trace);
        for is_recorded in [false, true, true] {
            // A replay finds the answers of another proof.
            assert!(prover.prove(&q, &other).unwrap() != *expected.as_ref().unwrap());
            assert_eq!(prove_replayed(&mut prover, &q, &mut graph, &trace), expected);
            assert_eq!(graph.is_recorded(), is_recorded);
        }
        for is_recorded in [false, true, true] {
            prover.prove(&q, &other).unwrap();
            assert_eq!(prove_from_replayed(&mut prover, &q, &mut graph, &source), expected);
            assert_eq!(graph.is_recorded(), is_recorded);
        }
    }
    let got = prove_from_replayed(&mut prover, &q, &mut graph, &Sample::steps([4, 5], [1, 2]).source);
    assert_eq!(got, Err(ProveError::Components { expected: 1, got: 2 }));
}

#[test]
fn a_graph_takes_hardly_more_memory_than_single_ops_and_without_it_proofs_are_made_op_by_op() {
    let ((_machine, q), sample) = (simulated(), Sample::steps([4, 9], [1, 2]));
    let (trace, mut single) = (&sample.trace, prover(&q, &sample));
    let expected = single.prove(&q, trace).unwrap();
    let (needed, mut graph) = (q.budget().peak_bytes(), ProofGraph::new());
    for _ in 0..3 {
        assert_eq!(prove_replayed(&mut single, &q, &mut graph, trace).as_ref(), Ok(&expected));
    }
    let with_graph = q.budget().peak_bytes();
    assert!(graph.is_recorded() && needed < with_graph && with_graph < needed + needed / 100, "{needed}, {with_graph}");

    let q = open(Choice::Sim, Some(needed));
    let (mut prover, mut graph) = (prover(&q, &sample), ProofGraph::new());
    for round in 0..4 {
        let (proof, counts) = counted(&q, || prove_replayed(&mut prover, &q, &mut graph, trace).unwrap());
        assert_eq!((&proof, counts.replays), (&expected, 0), "{round}: {counts:?}");
    }
    assert!(!graph.is_recorded());
}

#[test]
fn what_waits_for_coefficients_or_runs_on_the_host_is_never_a_replay() {
    let (_machine, device) = simulated();
    let (steps, wide) = (vec![Sample::steps([4, 5], [9, 1 << 30])], vec![wide(1), wide(2), wide(3)]);
    for (q, samples, residency) in [(device, steps, Residency::Host(4)), (processor(), wide, Residency::Full)] {
        let (mut prover, mut graph) = (samples[0].prover_with(&q, residency).unwrap(), ProofGraph::new());
        for sample in samples.iter().cycle().take(3) {
            let expected = sample.proven(little_work());
            assert_eq!(prove_replayed(&mut prover, &q, &mut graph, &sample.trace), expected);
            assert_eq!(prove_from_replayed(&mut prover, &q, &mut graph, &sample.source), expected);
        }
        assert!(!graph.is_recorded(), "{residency:?}");
    }
}

#[test]
fn a_watched_proof_is_neither_recorded_nor_replayed() {
    let ((_machine, q), sample) = (simulated(), wide(1));
    let (mut prover, mut graph) = (prover(&q, &sample), ProofGraph::new());
    let expected = prover.prove(&q, &sample.trace);
    for source in [TraceSource::columns(&sample.trace), TraceSource::witness(&sample.source).unwrap()] {
        for _ in 0..3 {
            let mut stages = Vec::new();
            let watch = &mut |stage| stages.push(stage);
            let options = ProveOptions::new().watching(watch).replayed(&mut graph);
            let (proof, counts) = counted(&q, || prover.prove_with(&q, &source, options));
            assert_eq!(proof, expected);
            // Without look-ups there is one stage less.
            assert_eq!(stages.len(), Stage::ALL.len() - 1);
            assert!(counts.replays == 0 && !graph.is_recorded(), "{counts:?}");
            // The device completes the work before each stage, and the proof.
            assert!(counts.waits > stages.len() as u64, "{counts:?}");
        }
    }
    // Without a watcher, the same source is replayed.
    let source = TraceSource::witness(&sample.source).unwrap();
    for is_recorded in [false, true, true] {
        let options = ProveOptions::new().replayed(&mut graph);
        assert_eq!(prover.prove_with(&q, &source, options), expected);
        assert_eq!(graph.is_recorded(), is_recorded);
    }
}
