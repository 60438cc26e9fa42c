//! Many proofs on several queues equal single proofs, whatever device fails.

use std::sync::Mutex;

use backend_api::BackendError;
use runtime::{AnyQueue, Choice, Settings};
use stark::{Jobs, M31, ManyProofs, PcsConfig, Protocol, ProveError, ProverError, Ticket, TraceColumns, in_turn};

use crate::{
    common::{Proven, inject, is_loss, on_queues, open, open_with, processor, simulate},
    samples::Sample,
};

/// A queue on each of two simulated devices.
fn devices() -> [AnyQueue; 2] {
    [0, 1].map(|cuda_device| open_with(Choice::Sim, &Settings { cuda_device, ..Settings::default() }))
}

fn sample(seed: u32) -> Sample {
    Sample::wide(4, 6, seed)
}

fn traces(count: u32) -> Vec<Vec<TraceColumns>> {
    (0..count).map(|seed| sample(seed).trace).collect()
}

/// What each trace leads to, on one queue.
fn expected(traces: &[Vec<TraceColumns>]) -> Vec<Proven> {
    let (q, sample) = (processor(), sample(0));
    let mut prover = sample.prover(&q, PcsConfig::default()).unwrap();
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
    let (proven, statement) = (Mutex::new(vec![None; traces.len()]), sample(0).statement);
    let many = ManyProofs::new(Protocol::V2_3, PcsConfig::default(), &statement, traces.into_iter().enumerate());
    let keep = |number: usize, proof: Proven| {
        let before = proven.lock().unwrap()[number].replace(proof);
        assert!(before.is_none(), "{number} was proven before");
    };
    let queues = on_queues(queues, vec![(); queues.len()], |q, ()| many.prove_on(q, keep));
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
        let queues: Vec<_> = (0..queues).map(|_| processor()).collect();
        let made = many(&queues, traces.clone());
        assert!(made.proven.into_iter().map(Option::unwrap).eq(expected.iter().cloned()), "{} queues", queues.len());
        assert_eq!(made.queues.into_iter().map(Result::unwrap).sum::<usize>(), 30);
        assert!(made.rest.is_empty());
    }
}

#[test]
fn a_client_with_many_traces_does_not_hold_up_one_with_few() {
    let (traces, statement) = (traces(24), sample(0).statement);
    let clients = in_turn([&traces[..20], &traces[20..21], &traces[21..]].map(<[Vec<TraceColumns>]>::to_vec));
    let many = ManyProofs::new(Protocol::V2_3, PcsConfig::default(), &statement, clients);
    let mut done = Vec::new();
    many.prove_on(&processor(), |ticket, proof| done.push((ticket, proof))).unwrap();
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
        let queues = devices();
        inject(&session, [&*format!("fail=700@cuLaunchKernel:{launch}")]);
        let made = many(&queues, traces.clone());
        assert!(made.proven.into_iter().map(Option::unwrap).eq(expected.iter().cloned()), "launch {launch}");
        assert!(made.rest.is_empty());
        let [(Ok(_), Err(failure)) | (Err(failure), Ok(_))] = [(&made.queues[0], &made.queues[1])] else {
            panic!("launch {launch}: {:?}", made.queues);
        };
        assert!(is_loss(failure), "launch {launch}: {failure:?}");
    }
}

#[test]
fn when_all_devices_are_lost_the_caller_has_what_was_proven_before_and_why_the_rest_was_not() {
    let traces = traces(9);
    let expected = expected(&traces);
    let session = simulate("devices=2");
    let queues = devices();
    // Each queue replays from its second proof on.
    inject(&session, ["fail=700@cuGraphLaunch:1", "fail=700@cuGraphLaunch:2"]);
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

/// Jobs of other statements in turn: other heights and other public words.
fn jobs() -> Vec<Sample> {
    (0..8).map(|n| if n % 2 == 0 { Sample::steps([3, 4], [n, 2]) } else { Sample::wide(4, 5 + n, n) }).collect()
}

fn prove(job: &Sample, q: &AnyQueue) -> Proven {
    job.prover(q, PcsConfig::default())?.prove_from(q, &job.source)
}

#[test]
fn jobs_of_many_statements_are_done_once_and_a_device_that_is_lost_leaves_its_own_to_others() {
    let expected: Vec<_> = jobs().iter().map(|job| prove(job, &processor()).unwrap()).collect();
    for rule in [None, Some("fail=700@cuLaunchKernel:150")] {
        let session = simulate("devices=2");
        let queues = devices();
        inject(&session, rule);
        let (all, proven) = (Jobs::new(in_turn([jobs(), jobs()])), Mutex::new(Vec::new()));
        let done = on_queues(&queues, [(); 2], |q, ()| {
            let work = |job: &Sample| match prove(job, q) {
                Err(lost) if is_loss(&lost) => Err(lost),
                proven => Ok(proven),
            };
            all.work(work, |ticket, proof| proven.lock().unwrap().push((ticket, proof)))
        });
        assert_eq!(done.iter().filter(|done| done.is_err()).count(), usize::from(rule.is_some()), "{done:?}");
        let mut proven = proven.into_inner().unwrap();
        proven.sort_by_key(|(Ticket { client, number }, _)| (*client, *number));
        let right =
            [0, 1].into_iter().flat_map(|client| expected.iter().enumerate().map(move |(n, proof)| (client, n, proof)));
        assert_eq!(proven.len(), 16);
        for ((Ticket { client, number }, proof), expected) in proven.iter().zip(right) {
            assert_eq!((*client, *number, proof.as_ref().unwrap()), expected);
        }
        assert_eq!(all.into_rest().count(), 0);
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
    let (q, mut all, mut proven) = (open(Choice::Cpu, Some(1 << 20)), jobs(), Vec::new());
    all.insert(3, Sample::wide(14, 30, 0));
    let jobs = Jobs::new(all.into_iter().enumerate());
    assert_eq!(jobs.work(|job| Ok::<_, ()>(prove(job, &q)), |label, proof| proven.push((label, proof))), Ok(9));
    for (label, proof) in proven {
        let has_no_room =
            matches!(proof, Err(ProveError::Prover(ProverError::Backend(BackendError::BudgetExceeded { .. }))));
        assert!(if label == 3 { has_no_room } else { proof.is_ok() }, "{label}: {proof:?}");
    }
}
