//! Many proofs on several queues are those of one, whatever device fails.
#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

use std::sync::OnceLock;

use backend_api::{BackendError, Queue as _};
use cuda_sim::driver::{self, Rule, Simulation};
use runtime::{AnyQueue, Choice, Domain, Settings};
use stark::{
    Columns, M31, PcsConfig, Protocol, ProveError, ProverError, Share, StatementProof, StatementProver, prove_many,
};
use stark_airs::WideFibonacci;

type Proven = Result<StatementProof, ProveError>;

fn open(choice: Choice, cuda_device: u32) -> AnyQueue {
    let settings = Settings { cuda_device, ..Settings::default() };
    runtime::open_with(&settings, Some(Domain::Stark), Some(choice)).unwrap().0
}

/// Two devices, in place of what `runtime` installs the first time.
fn two_devices() -> Simulation {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    let first = driver::simulate("").unwrap();
    INSTALLED.get_or_init(|| drop(open(Choice::Sim, 0)));
    drop(first);
    driver::simulate("devices=2").unwrap()
}

fn air() -> WideFibonacci {
    WideFibonacci::new(4, 6).unwrap()
}

fn traces(count: u32) -> Vec<Vec<Columns>> {
    let trace = |seed| {
        let seeds: Vec<_> = (0..16).map(|row| [seed, 3 * row + 1].map(M31::from_u32)).collect();
        air().trace(&seeds).unwrap()
    };
    (0..count).map(trace).collect()
}

/// What each trace leads to, on one queue.
fn expected(traces: &[Vec<Columns>]) -> Vec<Proven> {
    let (q, air) = (runtime::cpu().unwrap(), air());
    let mut prover = StatementProver::new(&q, Protocol::V2_3, PcsConfig::default(), &air).unwrap();
    traces.iter().map(|trace| prover.prove(&q, trace)).collect()
}

/// What each trace leads to, on several queues.
fn many(queues: &[AnyQueue], traces: Vec<Vec<Columns>>) -> (Vec<Option<Proven>>, Result<Vec<Share>, ProveError>) {
    let mut proven = vec![None; traces.len()];
    let shares = prove_many(queues, Protocol::V2_3, PcsConfig::default(), &air(), traces, |number, proof| {
        assert!(proven[number].replace(proof).is_none(), "{number} was proven before");
    });
    (proven, shares)
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
        let (proven, shares) = many(&queues, traces.clone());
        assert!(proven.into_iter().map(Option::unwrap).eq(expected.iter().cloned()), "{} queues", queues.len());
        let shares = shares.unwrap();
        assert_eq!(shares.iter().map(|share| share.traces).sum::<usize>(), 30);
        assert!(shares.len() == queues.len() && shares.iter().all(|share| share.failure.is_none()));
        assert!(queues.iter().all(|q| q.budget().live_bytes() == 0));
    }
}

#[test]
fn without_queues_nothing_is_proven() {
    assert_eq!(many(&[], traces(1)), (vec![None], Err(ProveError::NoQueue)));
    assert_eq!(many(&[], vec![]), (vec![], Ok(vec![])));
}

#[test]
fn a_device_that_is_lost_leaves_its_trace_to_the_other() {
    let traces = traces(9);
    let expected = expected(&traces);
    for launch in [1, 40, 200] {
        let session = two_devices();
        let queues = [0, 1].map(|device| open(Choice::Sim, device));
        session.inject(format!("fail=700@cuLaunchKernel:{launch}").parse::<Rule>().unwrap());
        let (proven, shares) = many(&queues, traces.clone());
        assert!(proven.into_iter().map(Option::unwrap).eq(expected.iter().cloned()), "launch {launch}");
        let shares = shares.unwrap();
        assert_eq!(shares.iter().map(|share| share.traces).sum::<usize>(), 9);
        let failures: Vec<_> = shares.iter().filter_map(|share| share.failure.as_ref()).collect();
        let [ProveError::Prover(ProverError::Backend(BackendError::DeviceLost { .. }))] = failures[..] else {
            panic!("launch {launch}: {failures:?}");
        };
        assert!(queues.iter().all(|q| q.budget().live_bytes() == 0));
    }
}

#[test]
fn when_all_devices_are_lost_the_caller_has_what_was_proven_before_and_why_the_rest_was_not() {
    let traces = traces(9);
    let expected = expected(&traces);
    let session = two_devices();
    let queues = [0, 1].map(|device| open(Choice::Sim, device));
    // Each queue replays from its second proof on.
    for launch in [1, 2] {
        session.inject(format!("fail=700@cuGraphLaunch:{launch}").parse::<Rule>().unwrap());
    }
    let (proven, shares) = many(&queues, traces);
    let made: Vec<_> = proven.iter().zip(&expected).filter(|(proven, _)| proven.is_some()).collect();
    assert!(made.len() <= 2, "{}", made.len());
    assert!(made.iter().all(|(proven, expected)| proven.as_ref() == Some(expected)));
    let lost = matches!(shares, Err(ProveError::Prover(ProverError::Backend(BackendError::DeviceLost { .. }))));
    assert!(lost, "{shares:?}");
}
