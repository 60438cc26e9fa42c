//! Whatever is refused during a proof, there is the right proof or a typed error, nothing stays allocated, and the next proof is right.

mod pair;

use std::collections::BTreeMap;

use backend_api::{BackendError, Queue as _};
use cuda_sim::driver::{Leak, Report, Simulation};
use runtime::{AnyQueue, Choice};
use stark::{ProofGraph, ProveError, Residency};

use crate::{
    common::{Proven, calls_of, device_error, inject, is_loss, is_refusal, little_work, open, simulate},
    samples::{Prover, Sample, prove_from_replayed, prove_replayed},
};

fn machine() -> Sample {
    Sample::steps([2, 3], [1, 2])
}

/// Codes to answer, with the calls to answer with them: each call is refused, and memory is short for some.
fn turns(count: u64) -> impl Iterator<Item = (i32, u64)> {
    let refused = (1..=count).map(|turn| (1, turn));
    let mut exhausted = vec![1, count.div_ceil(2), count];
    exhausted.dedup();
    refused.chain(exhausted.into_iter().map(|turn| (2, turn)))
}

/// [turns], but of calls that only make a context current, which are most of all and all alike, 32 of each function.
fn turns_but_of_contexts(call: &str, count: u64) -> impl Iterator<Item = (i32, u64)> {
    let step = if call.starts_with("cuCtx") { count.div_ceil(32) } else { 1 };
    turns(count).filter(move |(_, turn)| turn % step == 0)
}

/// A way to make a proof.
#[derive(Clone, Copy, Debug)]
enum ProveMode {
    OpByOp,
    Witness,
    /// After this number of proofs with the same graph.
    Graph(usize),
    /// As [`Graph`](Self::Graph), from the witness.
    WitnessGraph(usize),
}

const WAYS: [ProveMode; 7] = [
    ProveMode::OpByOp,
    ProveMode::Witness,
    ProveMode::Graph(0),
    ProveMode::Graph(1),
    ProveMode::Graph(2),
    ProveMode::WitnessGraph(1),
    ProveMode::WitnessGraph(2),
];

/// A proof in the making, again and again.
struct Proving<'a> {
    prover: Prover<'a, AnyQueue>,
    device: TestDevice<'a>,
    machine: &'a Sample,
    /// A trace that has no proof. It leaves other answers, so that answers of an earlier proof cannot pass.
    other: Sample,
    /// Number of proofs that were made under a rule.
    attempts: usize,
    /// Whether the last rule left a proof.
    was_proven: bool,
}

impl<'a> Proving<'a> {
    fn new(session: &'a Simulation, machine: &'a Sample, residency: Residency) -> Self {
        let device = TestDevice::open(session);
        let prover = machine.prover_with(&device.q, residency).unwrap();
        Self { prover, device, machine, other: Sample::steps([2, 3], [1, 3]), attempts: 0, was_proven: false }
    }

    const fn q(&self) -> &AnyQueue {
        &self.device.q
    }

    /// A graph after the proofs of `way`: of the other trace, or of the one witness that is recorded with its constants.
    fn graph_after(&mut self, way: ProveMode) -> ProofGraph<AnyQueue> {
        let mut graph = ProofGraph::new();
        match way {
            ProveMode::Graph(before) => (0..before).for_each(|_| {
                let proven = prove_replayed(&mut self.prover, &self.device.q, &mut graph, &self.other.trace);
                assert_eq!(proven, Err(ProveError::Sums));
            }),
            ProveMode::WitnessGraph(before) => (0..before).for_each(|_| drop(self.prove(way, &mut graph).unwrap())),
            ProveMode::OpByOp | ProveMode::Witness => {}
        }
        self.q().finish().unwrap();
        graph
    }

    /// Leaves the answers of the other trace.
    fn prove_other(&mut self) {
        assert_eq!(self.prover.prove(&self.device.q, &self.other.trace), Err(ProveError::Sums));
        self.q().finish().unwrap();
    }

    fn prove(&mut self, way: ProveMode, graph: &mut ProofGraph<AnyQueue>) -> Proven {
        let (prover, q, Sample { trace, source, .. }) = (&mut self.prover, &self.device.q, self.machine);
        match way {
            ProveMode::OpByOp => prover.prove(q, trace),
            ProveMode::Witness => prover.prove_from(q, source),
            ProveMode::Graph(_) => prove_replayed(prover, q, graph, trace),
            ProveMode::WitnessGraph(_) => prove_from_replayed(prover, q, graph, source),
        }
    }

    /// A proof with the graph that `way` leaves behind.
    fn replayed(&mut self, way: ProveMode, graph: &mut ProofGraph<AnyQueue>) -> Proven {
        self.prove(if matches!(way, ProveMode::WitnessGraph(_)) { way } else { ProveMode::Graph(0) }, graph)
    }

    /// The calls of the driver that a proof makes, each with how often.
    fn calls(&mut self, way: ProveMode) -> BTreeMap<&'static str, u64> {
        let mut graph = self.graph_after(way);
        let (_, calls) = calls_of(self.device.session, || self.prove(way, &mut graph).unwrap());
        // Only a graph of this proof is recorded, and replayed.
        let is_replay = matches!(way, ProveMode::Graph(1..) | ProveMode::WitnessGraph(1..));
        let is_recorded = matches!(way, ProveMode::Graph(1) | ProveMode::WitnessGraph(1));
        let has = |call| calls.contains_key(call);
        assert_eq!((has("cuGraphLaunch"), has("cuStreamBeginCapture_v2")), (is_replay, is_recorded), "{way:?}");
        calls
    }

    /// A proof while `rule` is in force, and the graph that it was made with.
    ///
    /// If later proofs are checked, the other trace left its answers in any case.
    fn prove_under(&mut self, way: ProveMode, rule: &str, are_checked: bool) -> (Proven, ProofGraph<AnyQueue>) {
        // A proof counts only after answers of the other trace, which such a graph has proven. An error
        // stands after any answers, which saves that proof, unless the rule before left a proof.
        let is_due = !matches!(way, ProveMode::Graph(1..));
        let is_after_other = is_due && (are_checked || self.was_proven);
        let mut made = self.attempt(way, rule, is_after_other);
        if made.0.is_ok() && is_due && !is_after_other {
            made = self.attempt(way, rule, true);
        }
        self.was_proven = made.0.is_ok();
        made
    }

    fn attempt(&mut self, way: ProveMode, rule: &str, is_after_other: bool) -> (Proven, ProofGraph<AnyQueue>) {
        let mut graph = self.graph_after(way);
        if is_after_other {
            self.prove_other();
        }
        inject(self.device.session, [rule]);
        self.attempts += 1;
        let proven = self.prove(way, &mut graph);
        self.device.session.clear_faults();
        (proven, graph)
    }
}

/// A device that is opened for a test, and has to be left as it was found.
struct TestDevice<'a> {
    session: &'a Simulation,
    q: AnyQueue,
    /// Reports and ends of contexts before.
    before: (usize, u64),
}

impl<'a> TestDevice<'a> {
    fn open(session: &'a Simulation) -> Self {
        Self { session, q: open(Choice::Sim, None), before: Self::seen(session) }
    }

    fn seen(session: &Simulation) -> (usize, u64) {
        let ends = session.counters().calls.get("cuDevicePrimaryCtxRelease_v2").copied().unwrap_or(0);
        (session.reports().len(), ends)
    }

    /// Ends it after this number of refusals of `call`.
    fn end(self, call: &str, refusals: usize) {
        let Self { session, q, before } = self;
        drop(q);
        let (reports, ends) = (session.reports().split_off(before.0), Self::seen(session).1);
        // Memory that a copy may still use is never freed, since its completion is not reported, and keeps its
        // context.
        if call == "cuStreamSynchronize" && ends == before.1 {
            return;
        }
        assert_eq!(ends, before.1 + 1, "{call}");
        // A stream that the driver was asked to end is its own.
        let streams = if call == "cuStreamDestroy_v2" { refusals } else { 0 };
        let left = Report::Leak(Leak { streams, ..Leak::default() });
        assert_eq!(reports, if streams == 0 { vec![] } else { vec![left] }, "{call}");
    }
}

#[test]
fn whatever_call_is_refused_there_is_a_prover_or_a_typed_error() {
    let (session, machine) = (simulate(""), machine());
    let expected = machine.proven(little_work());
    for residency in [Residency::Full, Residency::Blocks(2)] {
        // The first one has the device compile programs, and fill its pools.
        let q = open(Choice::Sim, None);
        drop(machine.prover_with(&q, residency).unwrap());
        let (_, calls) = calls_of(&session, || drop(machine.prover_with(&q, residency).unwrap()));
        drop(q);
        let mut refused = 0;
        for (call, count) in calls {
            let device = TestDevice::open(&session);
            let q = &device.q;
            drop(machine.prover_with(q, residency).unwrap());
            for (code, turn) in turns(count) {
                let rule = format!("fail={code}@{call}:{turn}");
                inject(&session, [&*rule]);
                let made = machine.prover_with(q, residency);
                session.clear_faults();
                match made {
                    Err(error) => {
                        assert!(is_refusal(&error, code), "{residency:?}, {rule}: {error:?}");
                        refused += 1;
                    }
                    Ok(mut prover) => assert_eq!(prover.prove(q, &machine.trace), expected, "{residency:?}, {rule}"),
                }
                q.finish().unwrap();
                assert_eq!(q.budget().live_bytes(), 0, "{residency:?}, {rule}");
            }
            assert_eq!(machine.prover_with(q, residency).unwrap().prove(q, &machine.trace), expected);
            device.end(call, turns(count).count());
        }
        assert!(refused > 10, "{refused}");
    }
}

#[test]
fn whatever_call_is_refused_there_is_the_right_proof_or_a_typed_error() {
    refuse_each_call(Residency::Full, &WAYS);
}

#[test]
fn whatever_call_is_refused_blocks_make_the_right_proof_or_a_typed_error() {
    refuse_each_call(Residency::Blocks(2), &[ProveMode::OpByOp, ProveMode::Graph(2)]);
}

#[test]
fn whatever_call_is_refused_coefficients_on_the_host_make_the_right_proof_or_a_typed_error() {
    refuse_each_call(Residency::Host(2), &[ProveMode::OpByOp]);
}

#[test]
fn coefficients_that_cannot_be_pinned_are_copied_through_memory_that_is() {
    let (session, machine) = (simulate(""), machine());
    let q = open(Choice::Sim, None);
    let expected = machine.prover_with(&q, Residency::Full).unwrap().prove(&q, &machine.trace).unwrap();
    let live = q.budget().live_bytes();
    inject(&session, ["fail=2@cuMemHostRegister_v2:1"]);
    let mut prover = machine.prover_with(&q, Residency::Host(2)).unwrap();
    for _ in 0..2 {
        assert_eq!(prover.prove(&q, &machine.trace).as_ref(), Ok(&expected));
    }
    drop(prover);
    inject(&session, ["fail=1@cuMemHostRegister_v2:1"]);
    let refused = machine.prover_with(&q, Residency::Host(2)).err().unwrap();
    assert!(is_refusal(&refused, 1), "{refused:?}");
    session.clear_faults();
    assert_eq!(q.budget().live_bytes(), live);
}

fn refuse_each_call(residency: Residency, ways: &[ProveMode]) {
    let (session, machine) = (simulate(""), machine());
    let mut refused = BTreeMap::new();
    for &way in ways {
        let mut proving = Proving::new(&session, &machine, residency);
        proving.prover.prove(&proving.device.q, &machine.trace).unwrap();
        let calls = proving.calls(way);
        drop(proving);
        for (call, count) in calls {
            let mut proving = Proving::new(&session, &machine, residency);
            let expected = proving.prover.prove(&proving.device.q, &machine.trace).unwrap();
            let live = proving.q().budget().live_bytes();
            let turns: Vec<_> = match (residency, way) {
                (Residency::Full, ProveMode::OpByOp) => turns(count).collect(),
                _ => turns_but_of_contexts(call, count).collect(),
            };
            for (code, turn) in turns {
                let rule = format!("fail={code}@{call}:{turn}");
                let proofs = if turn == 1 { 3 } else { u64::from(turn % 5 == 0 || turn == count) };
                let (proven, mut graph) = proving.prove_under(way, &rule, proofs > 0);
                match &proven {
                    Ok(proof) => assert_eq!(*proof, expected, "{way:?}, {rule}"),
                    Err(error) => {
                        assert!(is_refusal(error, code), "{way:?}, {rule}: {error:?}");
                        *refused.entry(call).or_insert(0) += 1;
                        // Prover and graph are as good as before, after several refusals too: the graph is recorded again, and
                        // replayed.
                        for _ in 0..proofs {
                            let proven = proving.replayed(way, &mut graph);
                            assert_eq!(proven.as_ref(), Ok(&expected), "{way:?} after {rule}");
                        }
                    }
                }
                drop(graph);
                proving.q().finish().unwrap();
                assert_eq!(proving.q().budget().live_bytes(), live, "{way:?}, {rule}");
            }
            let Proving { device, prover, attempts, .. } = proving;
            drop(prover);
            assert_eq!(device.q.budget().live_bytes(), 0);
            device.end(call, attempts);
        }
    }
    for call in
        ["cuLaunchKernel", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemsetD8Async"]
    {
        assert!(refused.get(call).is_some_and(|&times| times >= ways.len()), "{call}: {refused:?}");
    }
    let is_on_host = matches!(residency, Residency::Host(_));
    let of_way = if is_on_host { "cuStreamSynchronize" } else { "cuGraphLaunch" };
    assert!(refused.contains_key(of_way) && refused.contains_key("cuEventSynchronize"), "{refused:?}");
}

#[test]
fn a_device_that_is_lost_during_a_proof_makes_none_and_keeps_nothing() {
    let machine = machine();
    let launches = ["fail=700@cuLaunchKernel:1", "fail=719@cuLaunchKernel:60", "late=700@cuLaunchKernel:3"];
    let cases = launches.map(|rule| (ProveMode::OpByOp, rule)).into_iter().chain([
        (ProveMode::Witness, "late=719@cuMemcpyHtoDAsync_v2:2"),
        (ProveMode::Graph(1), "fail=700@cuLaunchKernel:7"),
        (ProveMode::Graph(2), "fail=700@cuGraphLaunch:1"),
        (ProveMode::Graph(2), "late=719@cuGraphLaunch:1"),
        (ProveMode::Graph(2), "fail=700@cuEventSynchronize:1"),
        (ProveMode::WitnessGraph(2), "fail=700@cuGraphLaunch:1"),
    ]);
    for (way, rule) in cases {
        let session = simulate("");
        let mut proving = Proving::new(&session, &machine, Residency::Full);
        let (proven, mut graph) = proving.prove_under(way, rule, true);
        for proven in [proven, proving.replayed(way, &mut graph), proving.prove(ProveMode::OpByOp, &mut graph)] {
            let Err(error) = proven else { panic!("{way:?}, {rule}: there is a proof") };
            assert!(is_loss(&error), "{way:?}, {rule}: {error:?}");
        }
        let Proving { device, prover, .. } = proving;
        drop((prover, graph));
        assert_eq!(device.q.budget().live_bytes(), 0, "{way:?}, {rule}");
    }
}

#[test]
fn the_processor_refuses_what_a_budget_does_not_hold_and_goes_on_when_it_does() {
    let machine = machine();
    let unlimited = open(Choice::Cpu, None);
    let made = |q: &AnyQueue| -> Result<_, ProveError> {
        let mut prover = machine.prover_with(q, Residency::Full)?;
        Ok((prover.prove(q, &machine.trace)?, prover))
    };
    let (expected, _) = made(&unlimited).unwrap();
    let needed = unlimited.budget().peak_bytes();
    // Each limit is the least that the refusal before it asks for, so whatever takes more than all before it is refused in turn.
    let (mut limit, mut refusals) = (0, 0);
    let (q, mut prover) = loop {
        let q = open(Choice::Cpu, Some(limit));
        match made(&q) {
            Ok((proof, prover)) => {
                assert_eq!(proof, expected);
                break (q, prover);
            }
            Err(error) => limit += missing(&error),
        }
        assert_eq!(q.budget().live_bytes(), 0, "{limit} of {needed}");
        refusals += 1;
    };
    assert_eq!(limit, needed);
    // As much of the budget is taken by others between two proofs, from all that there is to nothing.
    let free = needed - q.budget().live_bytes();
    let mut held = free;
    while held > 0 {
        let reserved = q.budget().reserve(held).unwrap();
        let error = prover.prove(&q, &machine.trace).unwrap_err();
        drop(reserved);
        assert_eq!(prover.prove(&q, &machine.trace).as_ref(), Ok(&expected), "{held} of {free}");
        held -= missing(&error);
        refusals += 1;
    }
    assert!(refusals >= 5, "{refusals}");
}

/// The bytes that the budget lacks for the refused allocation.
fn missing(error: &ProveError) -> u64 {
    match device_error(error) {
        Some(BackendError::BudgetExceeded { need_bytes, free_bytes, .. }) => need_bytes - free_bytes,
        _ => panic!("{error:?} is not the budget's"),
    }
}
