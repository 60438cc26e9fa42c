//! Proofs of devices that copy from each other.

use std::sync::Arc;

use backend_api::{BackendError, Queue as _, Ranks as _};
use cuda_sim::driver::Rule;
use runtime::{AnyQueue, AnyRank, Choice, Detour, Route, ranks};
use stark::{
    Collective, CollectiveError, M31, PcsConfig, Protocol, ProveError, ProverError, Statement, StatementProof,
    StatementProver, TraceColumns,
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
fn on_ranks<V: Send>(queues: &[AnyQueue], group: Vec<AnyRank>, run: impl Fn(&AnyQueue, AnyRank) -> V + Sync) -> Vec<V> {
    let run = &run;
    test_process::scope(|scope| {
        let ranks: Vec<_> = queues.iter().zip(group).map(|(q, rank)| scope.spawn(move || run(q, rank))).collect();
        let made = ranks.into_iter().map(|rank| rank.join().unwrap()).collect();
        assert!(queues.iter().all(|q| q.budget().live_bytes() == 0));
        made
    })
}

fn prove<S: Statement>(
    q: &AnyQueue,
    rank: impl Collective<AnyQueue> + 'static,
    config: PcsConfig,
    statement: &S,
    trace: &[TraceColumns],
) -> Proven {
    StatementProver::sharded(q, rank, Protocol::V2_3, config, statement)?.prove(q, trace)
}

/// The proof of the processor alone.
fn alone<S: Statement>(config: PcsConfig, statement: &S, trace: &[TraceColumns]) -> StatementProof {
    let q = runtime::cpu().unwrap();
    StatementProver::new(&q, Protocol::V2_3, config, statement).unwrap().prove(&q, trace).unwrap()
}

#[test]
fn devices_that_copy_from_each_other_make_the_proof_of_one() {
    let [config, other] = configs();
    let (air, trace) = wide(5, 40);
    let machine = StateMachine::new([4, 4], [1, 2].map(M31::from_u32)).unwrap();
    let expected = alone(config, &air, &trace);
    let expected_look_ups = alone(other, &machine, &machine.trace());
    for (devices, schedule) in [(1, "eager"), (2, "lazy"), (4, "random;seed=4"), (8, "eager")] {
        // A kernel that touches memory of another device loses its own.
        let session = simulate(&format!("devices=8;peer=copies;schedule={schedule}"));
        let queues = queues(devices);
        let group = ranks(&queues).unwrap();
        assert!(group.iter().all(|rank| rank.links().iter().all(|link| link.route == Route::Peer)));
        let made = on_ranks(&queues, group, |q, rank| prove(q, Poisoned(rank), config, &air, &trace));
        assert!(made.iter().all(|proof| proof.as_ref() == Ok(&expected)), "{devices} devices, {schedule}");
        if devices <= 2 {
            let group = ranks(&queues).unwrap();
            let made = on_ranks(&queues, group, |q, rank| prove(q, Poisoned(rank), other, &machine, &machine.trace()));
            assert!(made.iter().all(|proof| proof.as_ref() == Ok(&expected_look_ups)), "{devices} devices");
        }
        drop(queues);
        assert_eq!(session.reports(), []);
    }
}

#[test]
fn whichever_links_there_are_the_proof_is_the_same() {
    let (config, (air, trace)) = (PcsConfig::default(), wide(4, 12));
    let expected = alone(config, &air, &trace);
    let wrong = Route::Host(Detour::Wrong { bytes: 64 << 10, first: 0 });
    for (links, routes) in [
        ("peer=off", [Route::Host(Detour::NoAccess), Route::Host(Detour::NoAccess)]),
        ("links=0-1:dropped,2-3:nvlink,0-3:pcie", [wrong, Route::Peer]),
        ("links=0-1:nvlink", [Route::Peer, Route::Host(Detour::NoAccess)]),
    ] {
        let session = simulate(&format!("devices=4;{links}"));
        let queues = queues(4);
        let group = ranks(&queues).unwrap();
        let route = |from, to| {
            let link = group[0].links().iter().find(|link| (link.from, link.to) == (from, to)).unwrap();
            link.route.clone()
        };
        assert_eq!([route(0, 1), route(3, 2)], routes, "{links}");
        let made = on_ranks(&queues, group, |q, rank| prove(q, Poisoned(rank), config, &air, &trace));
        assert!(made.iter().all(|proof| proof.as_ref() == Ok(&expected)), "{links}");
        drop(queues);
        assert_eq!(session.reports(), [], "{links}");
    }
}

/// The driver's links carry the bytes expected from the sizes of a proof: every read of another device is an
/// exchange.
#[test]
fn the_driver_copies_what_the_sizes_of_a_proof_say() {
    for (log_blowup, log_rows, columns, devices) in [(2, 6, 8, 2), (1, 6, 24, 4)] {
        let session = simulate("devices=4;peer=copies");
        let (config, (air, trace)) = (config(log_blowup), wide(log_rows, columns as u32));
        let queues = queues(devices);
        let counted = || session.counters().bytes_between_devices;
        let before = std::sync::Mutex::new(None);
        let sent = on_ranks(&queues, ranks(&queues).unwrap(), |q, rank| {
            let rank = Arc::new(rank);
            let mut prover = StatementProver::sharded(q, Arc::clone(&rank), Protocol::V2_3, config, &air).unwrap();
            // All have made their provers, and none begins to prove.
            stark::Collective::barrier(&rank, q).unwrap();
            before.lock().unwrap().get_or_insert_with(counted);
            stark::Collective::barrier(&rank, q).unwrap();
            let made = rank.sent_bytes();
            prover.prove(q, &trace).unwrap();
            rank.sent_bytes().iter().zip(made).map(|(all, made)| all - made).collect::<Vec<_>>()
        });
        let (before, after) = (before.into_inner().unwrap().unwrap(), counted());
        let bytes = |from| Sizes::wide(columns).bytes(&config, log_rows, [from as usize, devices as usize]);
        for (from, to) in (0..devices).flat_map(|from| (0..devices).map(move |to| (from, to))) {
            let of = |counted: &std::collections::BTreeMap<(u32, u32), u64>| counted.get(&(from, to)).copied();
            let carried = of(&after).unwrap_or(0) - of(&before).unwrap_or(0);
            let expected = if from == to { 0 } else { bytes(from) };
            assert_eq!((carried, sent[from as usize][to as usize]), (expected, expected), "from {from} to {to}");
        }
    }
}

#[test]
fn whatever_call_between_devices_is_refused_all_end_with_the_proof_or_a_name() {
    let (config, (air, trace)) = (PcsConfig::default(), wide(4, 6));
    let expected = alone(config, &air, &trace);
    let attempt = |rule: Option<&str>| {
        let session = simulate("devices=2;peer=copies");
        let queues = queues(2);
        let group = ranks(&queues).unwrap();
        let before = session.counters().calls;
        if let Some(rule) = rule {
            session.inject(rule.parse::<Rule>().unwrap());
        }
        let made = on_ranks(&queues, group, |q, rank| prove(q, rank, config, &air, &trace));
        let calls = session.counters().calls.into_iter();
        let calls = calls.map(|(call, count)| (call, count - before.get(call).copied().unwrap_or(0)));
        (made, calls.collect::<std::collections::BTreeMap<_, _>>())
    };
    let (made, calls) = attempt(None);
    assert!(made.iter().all(|proof| proof.as_ref() == Ok(&expected)));
    let mut failed = 0;
    for call in ["cuMemcpyPeerAsync", "cuStreamWaitEvent", "cuEventRecord"] {
        let count = calls[call];
        for (turn, code) in (1..=count).step_by(count.div_ceil(8) as usize).zip([1, 700].into_iter().cycle()) {
            let rule = format!("fail={code}@{call}:{turn}");
            let (made, _) = attempt(Some(&rule));
            let of_device = |error: &ProveError| match error {
                ProveError::Prover(ProverError::Backend(error))
                | ProveError::Prover(ProverError::Collective(CollectiveError::Backend(error))) => match error {
                    BackendError::Driver { call: named, .. } => code == 1 && *named == call,
                    other => code == 700 && matches!(other, BackendError::DeviceLost { .. }),
                },
                _ => false,
            };
            let Some(odd) = made.iter().position(|made| made.as_ref().is_err_and(of_device)) else {
                // Some refusals cost nothing but a wait.
                assert!(made.iter().all(|made| made.as_ref() == Ok(&expected)), "{rule}: {made:?}");
                continue;
            };
            let gave_up = ProveError::Prover(ProverError::Collective(CollectiveError::GaveUp { rank: odd }));
            let other = &made[1 - odd];
            assert!(other.as_ref() == Ok(&expected) || *other == Err(gave_up), "{rule}: {other:?}");
            failed += u32::from(other.is_err());
        }
    }
    assert!(failed > 10, "{failed}");
}
