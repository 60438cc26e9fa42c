//! Proofs that are replayed are those that are submitted op by op, with fewer calls of the driver.

use backend_api::{Counted as _, Queue as _, Submissions};
use runtime::AnyQueue;
use stark::{
    M31, PcsConfig, ProofGraph, Protocol, ProveError, ProveOptions, ProverError, Residency, Stage, Statement,
    StatementProver, TraceColumns, TraceSource, Witness,
};
use stark_airs::{Blake2s, Circuit, Plonk, Poseidon2Chain, StateMachine, WideFibonacci};

use crate::common::{processor, prove_from_replayed, prove_replayed, simulated, simulated_queue, words};

fn fibonacci(air: &WideFibonacci, rows: u32, seed: u32) -> (Vec<TraceColumns>, impl Witness) {
    let seeds: Vec<_> = (0..rows).map(|row| words([seed + row, seed * row + 1])).collect();
    (air.trace(&seeds).unwrap(), air.seeds(&seeds).unwrap())
}

fn prover<'s, S: Statement>(q: &AnyQueue, statement: &'s S) -> StatementProver<'s, AnyQueue, S> {
    prover_with(q, statement, Residency::Full)
}

fn prover_with<'s, S: Statement>(
    q: &AnyQueue,
    statement: &'s S,
    residency: Residency,
) -> StatementProver<'s, AnyQueue, S> {
    StatementProver::with_residency(q, Protocol::V2_3, PcsConfig::default(), statement, residency).unwrap()
}

/// What `run` hands to the driver.
fn counted<T>(q: &AnyQueue, run: impl FnOnce() -> T) -> (T, Submissions) {
    q.finish().unwrap();
    let before = q.submissions();
    let made = run();
    (made, q.submissions() - before)
}

/// Proves each trace op by op and replayed, from its columns and from its witness, three times; holds the counts of the driver's calls.
fn hold<S: Statement, W: Witness>(q: &AnyQueue, statement: &S, traces: &[(Vec<TraceColumns>, W)]) {
    for residency in [Residency::Full, Residency::Blocks(4)] {
        hold_with(q, statement, residency, traces);
    }
}

fn hold_with<S: Statement, W: Witness>(
    q: &AnyQueue,
    statement: &S,
    residency: Residency,
    traces: &[(Vec<TraceColumns>, W)],
) {
    let mut prover = prover_with(q, statement, residency);
    let [mut graph, mut graph_from] = [(), ()].map(|()| ProofGraph::new());
    for (round, (trace, witness)) in traces.iter().cycle().take(3 * traces.len()).enumerate() {
        // A trace that has no proof leaves other answers before each replay.
        let mut broken = trace.clone();
        broken[0][0][0] += M31::ONE;
        let (expected, eager) = counted(q, || prover.prove(q, trace).unwrap());
        let (from, eager_from) = counted(q, || prover.prove_from(q, witness).unwrap());
        assert_eq!(from, expected);
        prover.prove(q, &broken).unwrap_err();
        let (proof, replayed) = counted(q, || prove_replayed(&mut prover, q, &mut graph, trace).unwrap());
        assert_eq!(proof, expected, "{round}");
        prover.prove(q, &broken).unwrap_err();
        let (proof, replayed_from) =
            counted(q, || prove_from_replayed(&mut prover, q, &mut graph_from, witness).unwrap());
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
    let air = WideFibonacci::new(6, 20).unwrap();
    hold(&q, &air, &[1, 2].map(|seed| fibonacci(&air, 64, seed)));
    let machine = StateMachine::new([4, 5], words([9, 1 << 30])).unwrap();
    hold(&q, &machine, &[(machine.trace(), machine)]);
    let plonk = Plonk::evaluate(Circuit::sample(60).unwrap(), words([3, 1 << 30]).to_vec()).unwrap();
    hold(&q, &plonk, &[(plonk.trace(), plonk.wires())]);
    assert_eq!(q.budget().live_bytes(), 0);
}

#[test]
fn look_ups_in_tables_and_programs_of_several_kernels_are_replayed_too() {
    let (_machine, q) = simulated();
    let message = |word: u32| -> Vec<[u32; 16]> { (0..16).map(|block| [word + block; 16]).collect() };
    let ((statement, states), others) =
        (Blake2s::states(&message(7)).unwrap(), Blake2s::states(&message(9)).unwrap().1);
    hold_states(&q, &statement, &states, &others);
    let states = |word: u32| Poseidon2Chain::states(4, [word; 16].map(M31::from_u32)).unwrap();
    let ((statement, states), others) = (states(7), states(9).1);
    hold_states(&q, &statement, &states, &others);
}

/// Replays equal the processor's proof, whatever another witness, which has no proof, has left.
fn hold_states<S: Statement, W: Witness>(q: &AnyQueue, statement: &S, states: &W, others: &W) {
    let processor = runtime::cpu().unwrap();
    let alone = StatementProver::new(&processor, Protocol::V2_3, PcsConfig::default(), statement);
    let expected = alone.unwrap().prove_from(&processor, states).unwrap();
    let (mut prover, mut graph) = (prover(q, statement), ProofGraph::new());
    for round in 0..3 {
        prover.prove_from(q, others).unwrap_err();
        let (proof, counts) = counted(q, || prove_from_replayed(&mut prover, q, &mut graph, states).unwrap());
        assert!(proof == expected, "{round}");
        assert_eq!((counts.waits, counts.replays), (1, u64::from(round > 0)), "{round}: {counts:?}");
    }
}

#[test]
fn a_graph_is_made_anew_for_another_prover_and_kept_after_a_refused_trace() {
    let (_machine, q) = simulated();
    let mut graph = ProofGraph::new();
    let machine = StateMachine::new([4, 5], words([1, 2])).unwrap();
    let other = StateMachine::new([4, 5], words([1, 3])).unwrap();
    let (mut first, mut second) = (prover(&q, &machine), prover(&q, &other));
    let expected = [first.prove(&q, &machine.trace()).unwrap(), second.prove(&q, &other.trace()).unwrap()];
    for _ in 0..2 {
        // The shape is the same, but memory and public words are not.
        for _ in 0..3 {
            assert_eq!(prove_replayed(&mut first, &q, &mut graph, &machine.trace()).as_ref(), Ok(&expected[0]));
        }
        for _ in 0..3 {
            assert_eq!(prove_replayed(&mut second, &q, &mut graph, &other.trace()).as_ref(), Ok(&expected[1]));
        }
    }
    assert!(graph.is_recorded());
    let trace = other.trace();
    let refused = prove_replayed(&mut second, &q, &mut graph, &trace[1..]);
    assert_eq!(refused, Err(ProveError::Components { expected: 2, got: 1 }));
    assert_eq!(prove_replayed(&mut second, &q, &mut graph, &machine.trace()), Err(ProveError::Sums));
    let mut broken = trace.clone();
    broken[1][0][3] += M31::ONE;
    let refused = prove_replayed(&mut second, &q, &mut graph, &broken);
    assert!(
        matches!(refused, Err(ProveError::Sums | ProveError::Prover(ProverError::Constraints))),
        "a trace that breaks constraints: {refused:?}"
    );
    assert!(graph.is_recorded());
    let (proof, counts) = counted(&q, || prove_replayed(&mut second, &q, &mut graph, &trace).unwrap());
    assert_eq!((&proof, counts.replays), (&expected[1], 1));
}

#[test]
fn a_graph_is_made_anew_where_the_trace_is_made_in_another_way() {
    let ((_machine, q), air) = (simulated(), WideFibonacci::new(6, 20).unwrap());
    let (mut prover, mut graph) = (prover(&q, &air), ProofGraph::new());
    for seed in 1..4 {
        let (trace, witness) = fibonacci(&air, 64, seed);
        let other = fibonacci(&air, 64, seed + 9).0;
        let expected = prover.prove(&q, &trace);
        for is_recorded in [false, true, true] {
            // A replay finds the answers of another proof.
            assert!(prover.prove(&q, &other).unwrap() != *expected.as_ref().unwrap());
            assert_eq!(prove_replayed(&mut prover, &q, &mut graph, &trace), expected);
            assert_eq!(graph.is_recorded(), is_recorded);
        }
        for is_recorded in [false, true, true] {
            prover.prove(&q, &other).unwrap();
            assert_eq!(prove_from_replayed(&mut prover, &q, &mut graph, &witness), expected);
            assert_eq!(graph.is_recorded(), is_recorded);
        }
    }
    let machine = StateMachine::new([4, 5], words([1, 2])).unwrap();
    let got = prove_from_replayed(&mut prover, &q, &mut graph, &machine);
    assert_eq!(got, Err(ProveError::Components { expected: 1, got: 2 }));
}

#[test]
fn a_graph_takes_hardly_more_memory_than_single_ops_and_without_it_proofs_are_made_op_by_op() {
    let machine = StateMachine::new([4, 9], words([1, 2])).unwrap();
    let trace = machine.trace();
    let (_machine, q) = simulated();
    let mut single = prover(&q, &machine);
    let expected = single.prove(&q, &trace).unwrap();
    let (needed, mut graph) = (q.budget().peak_bytes(), ProofGraph::new());
    for _ in 0..3 {
        assert_eq!(prove_replayed(&mut single, &q, &mut graph, &trace).as_ref(), Ok(&expected));
    }
    let with_graph = q.budget().peak_bytes();
    assert!(graph.is_recorded() && needed < with_graph && with_graph < needed + needed / 100, "{needed}, {with_graph}");

    let q = simulated_queue(Some(needed));
    let (mut prover, mut graph) = (prover(&q, &machine), ProofGraph::new());
    for round in 0..4 {
        let (proof, counts) = counted(&q, || prove_replayed(&mut prover, &q, &mut graph, &trace).unwrap());
        assert_eq!((&proof, counts.replays), (&expected, 0), "{round}: {counts:?}");
    }
    assert!(!graph.is_recorded());
}

#[test]
fn what_waits_for_coefficients_is_never_a_replay() {
    let (_machine, q) = simulated();
    let machine = StateMachine::new([4, 5], words([9, 1 << 30])).unwrap();
    let expected = prover(&q, &machine).prove(&q, &machine.trace()).unwrap();
    let (mut prover, mut graph) = (prover_with(&q, &machine, Residency::Host(4)), ProofGraph::new());
    for _ in 0..3 {
        assert_eq!(prove_replayed(&mut prover, &q, &mut graph, &machine.trace()).as_ref(), Ok(&expected));
        assert_eq!(prove_from_replayed(&mut prover, &q, &mut graph, &machine).as_ref(), Ok(&expected));
    }
    assert!(!graph.is_recorded());
}

#[test]
fn what_the_host_does_itself_is_never_a_replay() {
    let (q, air) = (processor(), WideFibonacci::new(6, 20).unwrap());
    let (mut prover, mut graph) = (prover(&q, &air), ProofGraph::new());
    for seed in 1..4 {
        let (trace, witness) = fibonacci(&air, 64, seed);
        let expected = prover.prove(&q, &trace);
        assert_eq!(prove_replayed(&mut prover, &q, &mut graph, &trace), expected);
        assert_eq!(prove_from_replayed(&mut prover, &q, &mut graph, &witness), expected);
    }
    assert!(!graph.is_recorded());
}

#[test]
fn a_watched_proof_is_neither_recorded_nor_replayed() {
    let ((_machine, q), air) = (simulated(), WideFibonacci::new(6, 20).unwrap());
    let (mut prover, mut graph) = (prover(&q, &air), ProofGraph::new());
    let (trace, witness) = fibonacci(&air, 64, 1);
    let expected = prover.prove(&q, &trace);
    for source in [TraceSource::columns(&trace), TraceSource::witness(&witness).unwrap()] {
        for _ in 0..3 {
            let mut stages = Vec::new();
            let watch = &mut |stage| stages.push(stage);
            let options = ProveOptions::new().watching(watch).replayed(&mut graph);
            let (proof, counts) = counted(&q, || prover.prove_with(&q, &source, options));
            assert_eq!(proof, expected);
            // Without look-ups there is one stage less.
            assert_eq!(stages.len(), Stage::ALL.len() - 1);
            assert!(counts.replays == 0 && !graph.is_recorded(), "{counts:?}");
        }
    }
    // Without a watcher, the same source is replayed.
    let source = TraceSource::witness(&witness).unwrap();
    for is_recorded in [false, true, true] {
        let options = ProveOptions::new().replayed(&mut graph);
        assert_eq!(prover.prove_with(&q, &source, options), expected);
        assert_eq!(graph.is_recorded(), is_recorded);
    }
}
