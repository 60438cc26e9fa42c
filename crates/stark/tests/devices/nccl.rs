//! Proofs of devices that reach each other by NCCL, the simulated one.

use std::{collections::BTreeMap, sync::Arc};

use backend_api::{BackendError, Collective as _, Queue as _, Ranks as _};
use cuda_sim::driver::{Report, Rule};
use runtime::{AnyQueue, AnyRank, Choice, CollectiveKind, Settings, ranks_with};
use stark::{
    CollectiveError, M31, PcsConfig, Protocol, ProveError, ProverError, Statement, StatementProof, StatementProver,
};
use stark_airs::StateMachine;

use crate::{
    common::{configs, simulate},
    devices::{
        bytes::{Sizes, config},
        open,
        watched::Poisoned,
        wide,
    },
};

type Proven = Result<StatementProof, ProveError>;

fn queues(devices: u32) -> Vec<AnyQueue> {
    (0..devices).map(|device| open(Choice::Sim, device)).collect()
}

/// Runs each rank on a thread with its queue.
fn on_ranks<V: Send>(queues: &[AnyQueue], run: impl Fn(&AnyQueue, AnyRank) -> V + Sync) -> Vec<V> {
    let settings = Settings { collective: Some(CollectiveKind::Nccl), ..Settings::default() };
    let group = ranks_with(&settings, queues).unwrap();
    assert!(group.iter().all(|rank| rank.kind() == CollectiveKind::Nccl));
    let run = &run;
    test_process::scope(|scope| {
        let ranks: Vec<_> = queues.iter().zip(group).map(|(q, rank)| scope.spawn(move || run(q, rank))).collect();
        let made = ranks.into_iter().map(|rank| rank.join().unwrap()).collect();
        assert!(queues.iter().all(|q| q.budget().live_bytes() == 0));
        made
    })
}

/// The proof of the processor alone.
fn alone<S: Statement>(config: PcsConfig, statement: &S, trace: &[stark::TraceColumns]) -> StatementProof {
    let q = runtime::cpu().unwrap();
    StatementProver::new(&q, Protocol::V2_3, config, statement).unwrap().prove(&q, trace).unwrap()
}

#[test]
fn devices_that_use_nccl_make_the_proof_of_one() {
    let [config, other] = configs();
    let (air, trace) = wide(5, 12);
    let machine = StateMachine::new([4, 4], [1, 2].map(M31::from_u32)).unwrap();
    let (expected, look_ups) = (alone(config, &air, &trace), alone(other, &machine, &machine.trace()));
    for (devices, schedule) in [(2, "lazy;checks=sanitize"), (4, "random;seed=4"), (2, "eager;links=0-1:none")] {
        let session = simulate(&format!("devices=4;peer=copies;schedule={schedule}"));
        let queues = queues(devices);
        let prove = |q: &AnyQueue, rank| {
            StatementProver::sharded(q, Poisoned(rank), Protocol::V2_3, config, &air).unwrap().prove(q, &trace)
        };
        assert!(on_ranks(&queues, prove).iter().all(|proof| proof.as_ref() == Ok(&expected)), "{devices}, {schedule}");
        if schedule.starts_with("eager") {
            let prove = |q: &AnyQueue, rank| {
                let mut prover = StatementProver::sharded(q, Poisoned(rank), Protocol::V2_3, other, &machine).unwrap();
                prover.prove(q, &machine.trace())
            };
            assert!(on_ranks(&queues, prove).iter().all(|proof| proof.as_ref() == Ok(&look_ups)), "{schedule}");
        }
        assert_eq!(session.counters().bytes_between_devices, BTreeMap::new(), "all went by NCCL");
        drop(queues);
        assert_eq!(session.reports(), [], "{schedule}");
    }
}

/// The bytes that NCCL moves over each link match the sizes of a proof.
#[test]
fn nccl_moves_what_the_sizes_of_a_proof_say() {
    let (log_rows, columns, devices) = (6, 24, 4);
    let session = simulate("devices=4");
    let (config, (air, trace)) = (PcsConfig::default(), wide(log_rows, columns as u32));
    let queues = queues(devices);
    let before = std::sync::Mutex::new(None);
    let sent = on_ranks(&queues, |q, rank| {
        let rank = Arc::new(rank);
        let mut prover = StatementProver::sharded(q, Arc::clone(&rank), Protocol::V2_3, config, &air).unwrap();
        // All have made their provers, and none begins to prove.
        rank.barrier(q).unwrap();
        before.lock().unwrap().get_or_insert_with(|| session.counters().nccl_bytes);
        rank.barrier(q).unwrap();
        let made = rank.sent_bytes();
        prover.prove(q, &trace).unwrap();
        rank.sent_bytes().iter().zip(made).map(|(all, made)| all - made).collect::<Vec<_>>()
    });
    let (before, after) = (before.into_inner().unwrap().unwrap(), session.counters().nccl_bytes);
    let bytes = |from| Sizes::wide(columns).bytes(&config, log_rows, [from as usize, devices as usize]);
    for (from, to) in (0..devices).flat_map(|from| (0..devices).map(move |to| (from, to))) {
        let of = |counted: &BTreeMap<(u32, u32), u64>| counted.get(&(from, to)).copied().unwrap_or(0);
        let expected = if from == to { 0 } else { bytes(from) };
        let carried = of(&after) - of(&before);
        assert_eq!((carried, sent[from as usize][to as usize]), (expected, expected), "from {from} to {to}");
    }
}

#[test]
fn whatever_call_of_nccl_is_refused_all_end_with_a_name_and_leave_nothing() {
    // Gathered coefficients take NCCL's all-gathers, partitioned columns its pairs of sends and receives.
    let pairs = ["ncclGroupStart", "ncclSend", "ncclRecv", "ncclGroupEnd"];
    for (log_blowup, calls) in [(2, &["ncclGroupStart", "ncclGroupEnd", "ncclAllGather"][..]), (1, &pairs)] {
        refuse_calls_of_nccl(config(log_blowup), calls);
    }
}

/// Calls that make a group, ask how it is, or end it.
const OUTSIDE: [&str; 8] = [
    "ncclCommAbort",
    "ncclCommDestroy",
    "ncclCommFinalize",
    "ncclCommGetAsyncError",
    "ncclCommInitRank",
    "ncclCommInitRankConfig",
    "ncclGetUniqueId",
    "ncclGetVersion",
];

fn refuse_calls_of_nccl(config: PcsConfig, refused: &[&'static str]) {
    let (air, trace) = wide(4, 6);
    let expected = alone(config, &air, &trace);
    let attempt = |rule: Option<&str>| -> (Vec<Proven>, BTreeMap<&'static str, u64>) {
        let session = simulate("devices=2");
        let queues = queues(2);
        let made = on_ranks(&queues, |q, rank| {
            // The group is complete, so the refusals happen during the proof.
            rank.barrier(q).unwrap();
            if let Some(rule) = rule
                && rank.rank() == 0
            {
                session.inject(rule.parse::<Rule>().unwrap());
            }
            rank.barrier(q).unwrap();
            StatementProver::sharded(q, rank, Protocol::V2_3, config, &air)?.prove(q, &trace)
        });
        drop(queues);
        let leaks = session.reports().into_iter().filter(|report| matches!(report, Report::Leak(_)));
        assert_eq!(leaks.collect::<Vec<_>>(), [], "{rule:?}");
        (made, session.counters().calls)
    };
    let (made, calls) = attempt(None);
    assert!(made.iter().all(|proof| proof.as_ref() == Ok(&expected)));
    let of_proofs: Vec<_> =
        calls.into_iter().filter(|(call, _)| call.starts_with("nccl") && !OUTSIDE.contains(call)).collect();
    for call in refused {
        assert!(of_proofs.iter().any(|(made, count)| made == call && *count > 2), "{call}: {of_proofs:?}");
    }
    for (call, count) in of_proofs {
        for turn in 1..=count {
            let (made, _) = attempt(Some(&format!("fail=1@{call}:{turn}")));
            let refused = |made: &Proven| match made {
                Err(ProveError::Prover(ProverError::Collective(CollectiveError::Library {
                    call: named,
                    code: 1,
                    ..
                }))) => *named == call || *named == "ncclGroupEnd",
                _ => false,
            };
            let Some(odd) = made.iter().position(refused) else { panic!("{call} {turn}: {made:?}") };
            let gave_up = ProveError::Prover(ProverError::Collective(CollectiveError::GaveUp { rank: odd }));
            assert_eq!(made[1 - odd], Err(gave_up), "{call} {turn}");
        }
    }
}

/// A device that is lost during a proof ends the other, which may be waiting for data that NCCL never delivers.
#[test]
fn a_device_that_is_lost_ends_all() {
    let (config, (air, trace)) = (PcsConfig::default(), wide(4, 6));
    for turn in [20, 60] {
        let session = simulate("devices=2;schedule=lazy");
        let queues = queues(2);
        session.inject(format!("late=719@cuLaunchKernel:{turn}").parse::<Rule>().unwrap());
        let made = on_ranks(&queues, |q, rank| {
            StatementProver::sharded(q, rank, Protocol::V2_3, config, &air)?.prove(q, &trace)
        });
        for made in made {
            let Err(ProveError::Prover(error)) = made else { panic!("{turn}: {made:?}") };
            let is_named = match &error {
                ProverError::Backend(error) | ProverError::Collective(CollectiveError::Backend(error)) => {
                    matches!(error, BackendError::DeviceLost { .. })
                }
                ProverError::Collective(CollectiveError::Library { code, .. }) => *code == 1,
                ProverError::Collective(CollectiveError::GaveUp { .. }) => true,
                _ => false,
            };
            assert!(is_named, "{turn}: {error:?}");
        }
    }
}
