//! Whatever is refused, all ranks end, with the bytes or with an error that names who failed, and nothing is kept.

use core::time::Duration;
use std::{collections::BTreeMap, sync::Barrier};

use backend_api::{BackendError, Buffer as _, Collective as _, CollectiveError, Queue as _, Ranks as _};
use collective::PATIENCE;
use cuda_backend::{CudaQueue, PeerRank};
use cuda_sim::driver::Report;

use super::{on_ranks, open};
use crate::{definitions, device::support::SimMachine};

type RankResult = Result<Vec<u32>, CollectiveError>;

/// A few calls of each kind on two devices.
fn run(q: &CudaQueue, rank: &PeerRank) -> RankResult {
    let own = rank.rank() as u32;
    let mut buffer = q.upload(&[10 + own; 8])?;
    rank.all_gather(q, &mut buffer, &[0..3, 3..8])?;
    let mut turned = q.alloc::<u32>(8)?;
    rank.all_to_all(q, buffer.view(), turned.view_mut())?;
    rank.broadcast(q, 1, &mut turned, 1..3)?;
    drop(buffer);
    rank.barrier(q)?;
    let out = q.download(&turned)?;
    rank.barrier(q)?;
    Ok(out)
}

/// Gathered, each rank has 10 10 10 11 11 11 11 11: of that the halves are turned.
fn expected(rank: usize) -> Vec<u32> {
    if rank == 0 { vec![10, 11, 11, 11, 10, 10, 10, 11] } else { vec![11; 8] }
}

/// Runs on two devices while a rule is in force, and counts the calls by name.
fn attempt(links: &str, rule: Option<&str>) -> (Vec<RankResult>, BTreeMap<&'static str, u64>) {
    let machine = SimMachine::new(&format!("devices=2;{links}"));
    let queues = open(2);
    let group = PeerRank::group(&queues).unwrap();
    let before = machine.counters().calls;
    if let Some(rule) = rule {
        machine.inject(rule);
    }
    let outcomes = on_ranks(&queues, group, |q, rank| run(q, &rank));
    let made = machine.counters().calls;
    // The other rank's thread may be about to call the device at that moment.
    assert!(machine.counters().calls_after_sticky.len() <= 1, "{links} {rule:?}");
    drop(queues);
    machine.clear_faults();
    match rule {
        None => machine.assert_clean(),
        // A lost device keeps what was on it until it is released.
        Some(rule) if rule.contains("700") => {}
        Some(rule) => {
            let reports = machine.reports();
            assert!(!reports.iter().any(|report| matches!(report, Report::Leak(_))), "{links} {rule}: {reports:?}");
        }
    }
    let of = |call: &&'static str| before.get(call).copied().unwrap_or(0);
    (outcomes, made.into_iter().map(|(call, count)| (call, count - of(&call))).collect())
}

/// Refuses each of the calls in turn, with a code that leaves the device usable and with one that does not.
#[test]
fn whatever_call_is_refused_all_ranks_end_with_a_name() {
    let mut failed = 0;
    for links in ["peer=copies", "peer=off"] {
        let (outcomes, made) = attempt(links, None);
        let right = |rank: usize, outcome: &RankResult| outcome.as_ref().is_ok_and(|out| *out == expected(rank));
        assert!(outcomes.iter().enumerate().all(|(rank, outcome)| right(rank, outcome)), "{outcomes:?}");
        for call in [
            "cuMemcpyPeerAsync",
            "cuMemcpyDtoHAsync_v2",
            "cuMemcpyHtoDAsync_v2",
            "cuMemcpyDtoDAsync_v2",
            "cuStreamWaitEvent",
            "cuEventRecord",
            "cuEventCreate",
            "cuEventQuery",
            "cuStreamSynchronize",
            "cuMemAllocFromPoolAsync",
        ] {
            let count = made.get(call).copied().unwrap_or(0);
            for (turn, code) in (1..=count).flat_map(|turn| [(turn, 1), (turn, 700)]) {
                let rule = format!("fail={code}@{call}:{turn}");
                let (outcomes, _) = attempt(links, Some(&rule));
                let named = |rank: usize, outcome: &RankResult| match outcome {
                    Ok(_) => right(rank, outcome),
                    Err(CollectiveError::Backend(BackendError::Driver { call: named, .. })) => {
                        code == 1 && *named == call
                    }
                    Err(CollectiveError::Backend(BackendError::DeviceLost { .. })) => code == 700,
                    Err(CollectiveError::GaveUp { rank: other }) => *other == 1 - rank && outcomes[*other].is_err(),
                    Err(CollectiveError::Gone { rank: other }) => *other == 1 - rank && outcomes[*other].is_err(),
                    Err(_) => false,
                };
                let all = outcomes.iter().enumerate().all(|(rank, outcome)| named(rank, outcome));
                assert!(all, "{links} {rule}: {outcomes:?}");
                failed += u32::from(outcomes.iter().all(Result::is_err));
            }
        }
    }
    assert!(failed > 60, "{failed}");
}

/// Work that fails when it runs: the device is lost, and whoever waits for it is told.
#[test]
fn whatever_work_fails_late_no_rank_hangs() {
    for (links, call) in [("peer=copies", "cuMemcpyPeerAsync"), ("peer=off", "cuMemcpyDtoHAsync_v2")] {
        let count = attempt(links, None).1[call];
        for turn in 1..=count {
            let rule = format!("late=700@{call}:{turn}");
            let (outcomes, _) = attempt(links, Some(&rule));
            assert!(outcomes.iter().any(Result::is_err), "{rule}: {outcomes:?}");
        }
    }
}

/// Runs each rank on its own device, and checks that all devices are left as they were.
fn on_group<V: Send>(ranks: usize, patience: Duration, run: impl Fn(&CudaQueue, PeerRank) -> V + Sync) -> Vec<V> {
    let _machine = SimMachine::clean(&format!("devices={ranks}"));
    let queues = open(ranks as u32);
    on_ranks(&queues, PeerRank::patient_group(&queues, patience).unwrap(), run)
}

#[test]
fn a_rank_that_ends_stalls_gives_up_or_does_another_thing_ends_all_with_its_name() {
    definitions::ends_all_with_the_name(3, |run| on_group(3, PATIENCE, run));
    let has_failed = Barrier::new(2);
    on_group(2, definitions::BRIEF, |q, rank| definitions::stalls(q, &rank, 1, &has_failed));

    let _machine = SimMachine::new("devices=3");
    let queues = open(3);
    let failed = on_ranks(&queues, PeerRank::group(&queues).unwrap(), |q, rank| {
        let mut buffer = q.zeros::<u32>(3).unwrap();
        if rank.rank() == 1 {
            return rank.broadcast(q, 0, &mut buffer, 0..3).unwrap_err();
        }
        rank.all_gather(q, &mut buffer, &[0..1, 1..2, 2..3]).unwrap_err()
    });
    let [expected, got] = ["all-gather of u32 (1 to 1, 3 in all)", "broadcast of u32 (0 to 3, 3 in all)"];
    let (expected, got) = (expected.to_owned(), got.to_owned());
    assert_eq!(failed, vec![CollectiveError::Disagrees { rank: 1, expected, got }; 3]);
}

#[test]
fn a_thread_that_panics_ends_all() {
    let _machine = SimMachine::new("devices=2");
    let queues = open(2);
    definitions::panic_ends_all(&queues, PeerRank::group(&queues).unwrap());
}
