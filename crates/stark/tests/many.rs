//! Many proofs on several queues equal single proofs, whatever device fails.

use std::sync::Mutex;

use backend_api::{BackendError, Queue as _};
use cuda_sim::driver::Rule;
use runtime::{AnyQueue, Choice, Domain, Settings};
use stark::{
    Jobs, M31, ManyProofs, PcsConfig, Protocol, ProveError, ProverError, StatementProof, StatementProver, Ticket,
    TraceColumns, in_turn,
};
use stark_airs::{StateMachine, WideFibonacci};

use crate::common::simulate;

type Proven = Result<StatementProof, ProveError>;

fn open(choice: Choice, cuda_device: u32) -> AnyQueue {
    let settings = Settings { cuda_device, ..Settings::default() };
    runtime::open_with(&settings, Some(Domain::Stark), Some(choice)).unwrap().0
}

fn air() -> WideFibonacci {
    WideFibonacci::new(4, 6).unwrap()
}

fn traces(count: u32) -> Vec<Vec<TraceColumns>> {
    let trace = |seed| {
        let seeds: Vec<_> = (0..16).map(|row| [seed, 3 * row + 1].map(M31::from_u32)).collect();
        air().trace(&seeds).unwrap()
    };
    (0..count).map(trace).collect()
}

/// What each trace leads to, on one queue.
fn expected(traces: &[Vec<TraceColumns>]) -> Vec<Proven> {
    let (q, air) = (runtime::cpu().unwrap(), air());
    let mut prover = StatementProver::new(&q, Protocol::V2_3, PcsConfig::default(), &air).unwrap();
    traces.iter().map(|trace| prover.prove(&q, trace)).collect()
}

/// What several queues made of many traces.
struct Made {
    /// What each trace led to.
    proven: Vec<Option<Proven>>,
    /// How many traces each queue was done with, or why it failed.
    queues: Vec<Result<usize, ProveError>>,
    /// The numbers of the traces that are left.
    rest: Vec<usize>,
}

fn many(queues: &[AnyQueue], traces: Vec<Vec<TraceColumns>>) -> Made {
    let proven = Mutex::new(vec![None; traces.len()]);
    let air = air();
    let many = ManyProofs::new(Protocol::V2_3, PcsConfig::default(), &air, traces.into_iter().enumerate());
    let keep = |number: usize, proof: Proven| {
        let before = proven.lock().unwrap()[number].replace(proof);
        assert!(before.is_none(), "{number} was proven before");
    };
    let queues = test_process::scope(|scope| {
        let workers: Vec<_> = queues.iter().map(|q| scope.spawn(|| many.prove_on(q, keep))).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    Made { proven: proven.into_inner().unwrap(), queues, rest: many.into_rest().map(|(number, _)| number).collect() }
}

#[test]
fn every_trace_is_proven_once_and_a_wrong_one_alone_has_no_proof() {
    let mut traces = traces(30);
    traces[7][0][4][3] += M31::ONE;
    traces[11].clear();
    let expected = expected(&traces);
    assert_eq!(expected[7], Err(ProveError::Prover(ProverError::Constraints)));
    assert_eq!(expected[11], Err(ProveError::Components { expected: 1, got: 0 }));
    for queues in [1, 2, 5] {
        let queues: Vec<_> = (0..queues).map(|_| open(Choice::Cpu, 0)).collect();
        let made = many(&queues, traces.clone());
        assert!(made.proven.into_iter().map(Option::unwrap).eq(expected.iter().cloned()), "{} queues", queues.len());
        assert_eq!(made.queues.into_iter().map(Result::unwrap).sum::<usize>(), 30);
        assert!(made.rest.is_empty());
        assert!(queues.iter().all(|q| q.budget().live_bytes() == 0));
    }
}

#[test]
fn a_client_with_many_traces_does_not_hold_up_one_with_few() {
    let (traces, air) = (traces(24), air());
    let clients = [&traces[..20], &traces[20..21], &traces[21..]];
    let many = ManyProofs::new(
        Protocol::V2_3,
        PcsConfig::default(),
        &air,
        in_turn(clients.map(<[Vec<TraceColumns>]>::to_vec)),
    );
    let (q, mut done) = (open(Choice::Cpu, 0), Vec::new());
    many.prove_on(&q, |ticket, proof| done.push((ticket, proof))).unwrap();
    let tickets: Vec<_> = done.iter().map(|(Ticket { client, number }, _)| (*client, *number)).collect();
    assert_eq!(tickets[..7], [(0, 0), (1, 0), (2, 0), (0, 1), (2, 1), (0, 2), (2, 2)]);
    assert!(tickets[7..].iter().copied().eq((3..20).map(|number| (0, number))));
    let expected = expected(&traces);
    for (Ticket { client, number }, proof) in done {
        assert_eq!(proof, expected[[0, 20, 21][client] + number], "client {client}, {number}");
    }
}

#[test]
fn without_queues_all_traces_are_left() {
    assert_eq!(many(&[], traces(3)).rest, [0, 1, 2]);
}

#[test]
fn a_device_that_is_lost_leaves_its_trace_to_the_other() {
    let traces = traces(9);
    let expected = expected(&traces);
    for launch in [1, 40, 200] {
        let session = simulate("devices=2");
        let queues = [0, 1].map(|device| open(Choice::Sim, device));
        session.inject(format!("fail=700@cuLaunchKernel:{launch}").parse::<Rule>().unwrap());
        let made = many(&queues, traces.clone());
        assert!(made.proven.into_iter().map(Option::unwrap).eq(expected.iter().cloned()), "launch {launch}");
        assert!(made.rest.is_empty());
        let [(Ok(_), Err(failure)) | (Err(failure), Ok(_))] = [(&made.queues[0], &made.queues[1])] else {
            panic!("launch {launch}: {:?}", made.queues);
        };
        assert!(is_loss(failure), "launch {launch}: {failure:?}");
        assert!(queues.iter().all(|q| q.budget().live_bytes() == 0));
    }
}

#[test]
fn when_all_devices_are_lost_the_caller_has_what_was_proven_before_and_why_the_rest_was_not() {
    let traces = traces(9);
    let expected = expected(&traces);
    let session = simulate("devices=2");
    let queues = [0, 1].map(|device| open(Choice::Sim, device));
    // Each queue replays from its second proof on.
    for launch in [1, 2] {
        session.inject(format!("fail=700@cuGraphLaunch:{launch}").parse::<Rule>().unwrap());
    }
    let made = many(&queues, traces);
    assert!(made.queues.iter().all(|queue| queue.as_ref().is_err_and(is_loss)), "{:?}", made.queues);
    let numbers = made.proven.iter().enumerate().filter(|(_, proven)| proven.is_some()).map(|(number, _)| number);
    let mut numbers: Vec<usize> = numbers.collect();
    assert_eq!(numbers.len(), 2);
    assert!(numbers.iter().all(|&number| made.proven[number].as_ref() == Some(&expected[number])));
    numbers.extend(made.rest);
    numbers.sort_unstable();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
}

fn is_loss(failure: &ProveError) -> bool {
    matches!(failure, ProveError::Prover(ProverError::Backend(BackendError::DeviceLost { .. })))
}

/// A proof of one of several statements.
enum Job {
    Steps(StateMachine),
    Fibonacci(WideFibonacci, Vec<TraceColumns>),
}

impl Job {
    /// Other statements in turn: other heights and other public words.
    fn all() -> Vec<Self> {
        let steps = |n| StateMachine::new([3 + n % 2, 4], [n, 2].map(M31::from_u32)).unwrap();
        let fibonacci = |n| {
            let air = WideFibonacci::new(4, 5 + n).unwrap();
            let trace = air.trace(&[[1, n].map(M31::from_u32); 16]).unwrap();
            Self::Fibonacci(air, trace)
        };
        (0..8).map(|n| if n % 2 == 0 { Self::Steps(steps(n)) } else { fibonacci(n) }).collect()
    }

    fn prove(&self, q: &AnyQueue) -> Proven {
        let (protocol, config) = (Protocol::V2_3, PcsConfig::default());
        match self {
            Self::Steps(machine) => StatementProver::new(q, protocol, config, machine)?.prove_from(q, machine),
            Self::Fibonacci(air, trace) => StatementProver::new(q, protocol, config, air)?.prove(q, trace),
        }
    }
}

#[test]
fn jobs_of_many_statements_are_done_once_and_a_device_that_is_lost_leaves_its_own_to_others() {
    let processor = open(Choice::Cpu, 0);
    let expected: Vec<_> = Job::all().iter().map(|job| job.prove(&processor).unwrap()).collect();
    for rule in [None, Some("fail=700@cuLaunchKernel:150")] {
        let session = simulate("devices=2");
        let queues = [0, 1].map(|device| open(Choice::Sim, device));
        if let Some(rule) = rule {
            session.inject(rule.parse::<Rule>().unwrap());
        }
        let jobs = Jobs::new(in_turn([Job::all(), Job::all()]));
        let proven = Mutex::new(Vec::new());
        let work = |q: &AnyQueue| {
            let prove = |job: &Job| match job.prove(q) {
                Err(lost @ ProveError::Prover(ProverError::Backend(BackendError::DeviceLost { .. }))) => Err(lost),
                proven => Ok(proven),
            };
            jobs.work(prove, |ticket, proof| proven.lock().unwrap().push((ticket, proof)))
        };
        let done = test_process::scope(|scope| {
            let workers = queues.each_ref().map(|q| scope.spawn(|| work(q)));
            workers.map(|worker| worker.join().unwrap())
        });
        assert_eq!(done.iter().filter(|done| done.is_err()).count(), usize::from(rule.is_some()), "{done:?}");
        let mut proven = proven.into_inner().unwrap();
        proven.sort_by_key(|(Ticket { client, number }, _)| (*client, *number));
        let all =
            [0, 1].into_iter().flat_map(|client| expected.iter().enumerate().map(move |(n, proof)| (client, n, proof)));
        assert_eq!(proven.len(), 16);
        for ((Ticket { client, number }, proof), expected) in proven.iter().zip(all) {
            assert_eq!((*client, *number, proof.as_ref().unwrap()), expected);
        }
        assert_eq!(jobs.into_rest().count(), 0);
    }
}

#[test]
fn a_job_that_panics_is_left_to_others() {
    let jobs = Jobs::new([("first", 1), ("second", 2)]);
    let panicked = test_process::scope(|scope| {
        scope.spawn(|| jobs.work(|_| -> Result<(), ()> { panic!("on purpose") }, |_, ()| {})).join().is_err()
    });
    assert!(panicked);
    let mut done = Vec::new();
    assert_eq!(jobs.work(|job| Ok::<_, ()>(*job), |label, made| done.push((label, made))), Ok(2));
    done.sort_unstable();
    assert_eq!(done, [("first", 1), ("second", 2)]);
}

#[test]
fn a_job_without_room_is_its_own_failure() {
    let settings = Settings { mem_limit_bytes: Some(1 << 20), ..Settings::default() };
    let q = runtime::open_with(&settings, Some(Domain::Stark), Some(Choice::Cpu)).unwrap().0;
    let air = WideFibonacci::new(14, 30).unwrap();
    let large = Job::Fibonacci(air, vec![vec![vec![M31::ZERO; 1 << 14]; 30]]);
    let mut jobs = Job::all();
    jobs.insert(3, large);
    let jobs = Jobs::new(jobs.into_iter().enumerate());
    let mut proven = Vec::new();
    assert_eq!(jobs.work(|job| Ok::<_, ()>(job.prove(&q)), |label, proof| proven.push((label, proof))), Ok(9));
    for (label, proof) in proven {
        let has_no_room =
            matches!(proof, Err(ProveError::Prover(ProverError::Backend(BackendError::BudgetExceeded { .. }))));
        assert!(if label == 3 { has_no_room } else { proof.is_ok() }, "{label}: {proof:?}");
    }
}
