//! Whatever call NCCL or the driver refuses, all ranks end, and nothing stays allocated.

use backend_api::{BackendError, Buffer as _, Collective as _, CollectiveError, Queue as _, Ranks as _};
use collective::{Local, Staged};
use cuda_backend::{CudaQueue, NcclError};
use cuda_sim::driver::{Counters, Report, simulate};

use super::{LONG, LocalNcclRank, collective, queues};
use crate::definitions::on_threads;

type RankResult = Result<Vec<u32>, CollectiveError>;

/// One exchange of each kind, from the making of the communicator on.
fn program(q: &CudaQueue, place: Staged<Local>) -> RankResult {
    let rank = LocalNcclRank::new(q, place.into_transport()).map_err(collective)?;
    let own = rank.rank() as u32;
    let mut words = q.upload(&[own; 4])?;
    rank.all_gather(q, &mut words, &[0..2, 2..4])?;
    rank.all_gather(q, &mut words, &[0..1, 2..4])?;
    let mut turned = q.zeros::<u32>(4)?;
    rank.all_to_all(q, words.view(), turned.view_mut())?;
    rank.broadcast(q, 1, &mut turned, 3..4)?;
    rank.barrier(q)?;
    Ok(q.download(&turned)?)
}

/// Runs the program while a rule is in force; what came of it, and how often each call was made.
fn run(rule: Option<&str>) -> (Vec<RankResult>, Counters) {
    let session = simulate("devices=2").unwrap();
    let queues = queues(2);
    if let Some(rule) = rule {
        session.inject(rule.parse().unwrap());
    }
    let ended = on_threads(&queues, Local::patient_group(2, LONG), program);
    assert!(queues.iter().all(|q| q.budget().live_bytes() == 0), "{rule:?}");
    let counters = session.counters();
    drop(queues);
    // Memory of a lost device goes with its context; communicators that the library does not free leak.
    let lost = |ended: &RankResult| matches!(ended, Err(CollectiveError::Backend(BackendError::DeviceLost { .. })));
    let is_given_up = |rule: &str| rule.starts_with("fail=719") || rule.contains("@ncclCommDestroy");
    let is_lost = rule.is_some_and(is_given_up) || ended.iter().any(lost);
    let leaks: Vec<_> = session.reports().into_iter().filter(|report| matches!(report, Report::Leak(_))).collect();
    assert!(leaks.is_empty() || is_lost, "{rule:?}: {leaks:?}");
    (ended, counters)
}

fn expected() -> [RankResult; 2] {
    // Rank 0 has 0 0 | 1 1 and rank 1 the same, so halves of each are turned, and the last word
    // comes from rank 1.
    [Ok(vec![0, 0, 0, 1]), Ok(vec![1, 1, 1, 1])]
}

#[test]
fn whatever_call_of_nccl_is_refused_all_ranks_end_with_a_name() {
    let (ended, counters) = run(None);
    assert_eq!(ended, expected());
    for function in [
        "ncclGetUniqueId",
        "ncclCommInitRankConfig",
        "ncclCommGetAsyncError",
        "ncclGroupStart",
        "ncclGroupEnd",
        "ncclSend",
        "ncclRecv",
        "ncclBroadcast",
        "ncclAllGather",
    ] {
        // Who watches asks now and then too, so of the questions only the first are of a known rank's calls.
        let calls = if function == "ncclCommGetAsyncError" { 6 } else { counters.calls_of(function) };
        assert!(calls > 0, "{function}");
        for turn in 1..=calls {
            let rule = format!("fail=3@{function}:{turn}");
            let (ended, _) = run(Some(&rule));
            let refused = |ended: &RankResult| {
                let Err(CollectiveError::Library { call, code: 3, name: "ncclInternalError", text }) = ended else {
                    return false;
                };
                // The operation that a call began may fail later, and its group reports that too.
                assert!(*call == function || function == "ncclGroupEnd", "{rule}: {call}");
                text.contains("NCCL failed an internal check")
            };
            let Some(failed) = ended.iter().position(refused) else { panic!("{rule}: {ended:?}") };
            assert_eq!(ended[1 - failed], Err(CollectiveError::GaveUp { rank: failed }), "{rule}");
        }
    }
}

#[test]
fn a_refusal_at_the_end_costs_no_result() {
    for turn in [1, 2] {
        let (ended, counters) = run(Some(&format!("fail=2@ncclCommFinalize:{turn}")));
        assert_eq!(ended, expected());
        // Where one rank aborts, the other finds that it cannot end in peace either.
        assert!([1, 2].contains(&counters.calls_of("ncclCommAbort")));
        // A communicator that the library does not give back may be gone, so it is left alone.
        let (ended, counters) = run(Some(&format!("fail=2@ncclCommDestroy:{turn}")));
        assert_eq!(ended, expected());
        assert_eq!(counters.calls_of("ncclCommAbort"), 0);
    }
}

#[test]
fn whatever_call_of_the_driver_is_refused_all_ranks_end() {
    let (_, counters) = run(None);
    for function in ["cuEventRecord", "cuEventQuery", "cuMemcpyDtoDAsync_v2", "cuStreamSynchronize", "cuEventCreate"] {
        let calls = counters.calls_of(function);
        for turn in (1..=calls).step_by(calls.div_ceil(6).max(1) as usize) {
            for code in [1, 719] {
                let rule = format!("fail={code}@{function}:{turn}");
                let (ended, _) = run(Some(&rule));
                for (rank, (ended, expected)) in ended.iter().zip(expected()).enumerate() {
                    // A rank that fails between collectives is just gone.
                    let others = [CollectiveError::GaveUp { rank: 1 - rank }, CollectiveError::Gone { rank: 1 - rank }];
                    let is_named = match ended {
                        Err(CollectiveError::Backend(error)) => {
                            let text = error.to_string();
                            text.contains(&format!("({code})")) || text.contains(&format!("rank {} gave up", 1 - rank))
                        }
                        Err(error) => {
                            others.contains(error) || matches!(error, CollectiveError::Library { code: 1, .. })
                        }
                        Ok(_) => *ended == expected,
                    };
                    assert!(is_named, "{rule}: rank {rank}: {ended:?}");
                }
            }
        }
    }
}

#[test]
fn a_group_whose_communicator_is_refused_says_why() {
    let session = simulate("devices=2;fail=2@ncclCommInitRankConfig:2").unwrap();
    let queues = queues(2);
    let refused = LocalNcclRank::group(&queues).unwrap_err();
    let NcclError::Collective(CollectiveError::Library { call: "ncclCommInitRankConfig", code: 2, .. }) = &refused
    else {
        panic!("{refused}")
    };
    drop(queues);
    assert_eq!(session.reports(), []);
}
