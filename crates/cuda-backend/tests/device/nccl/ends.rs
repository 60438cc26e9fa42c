//! A rank that ends, stalls, gives up or does something else ends all, each with its name.

use std::{sync::Barrier, time::Duration};

use backend_api::{BackendError, Buffer as _, Collective as _, CollectiveError, Queue as _, Ranks as _, Record as _};
use collective::Local;
use cuda_sim::driver::simulate;

use super::{LONG, LocalNcclRank, collective, on_ranks, open, queues};
use crate::definitions::{self, on_threads};

#[test]
fn a_rank_that_ends_stalls_or_gives_up_ends_all_with_its_name() {
    let session = simulate("devices=3").unwrap();
    definitions::ends_all_with_the_name(3, |run| on_ranks(3, LONG, run));
    // Ranks also wait for each other as they join, so patience is long enough for a busy machine.
    let all_failed = Barrier::new(3);
    let wait = || {
        all_failed.wait();
    };
    let patience = Duration::from_secs(10);
    let stalled = on_ranks(3, patience, |q, rank| definitions::ended(q, rank, 1, |_| wait(), wait));
    let call = "all-gather of u32 (1 to 1, 3 in all)".to_owned();
    let expected = CollectiveError::Stalled { rank: 1, call, seconds: 10 };
    assert_eq!(stalled, [Some(expected.clone()), None, Some(expected)]);
    assert_eq!(session.reports(), [], "nothing is left behind");
}

#[test]
fn a_rank_that_makes_another_call_is_named() {
    let session = simulate("devices=2").unwrap();
    let failed = on_ranks(2, LONG, |q, rank| {
        let mut buffer = q.zeros::<u32>(4).unwrap();
        let shares = if rank.rank() == 0 { [0..2, 2..4] } else { [0..1, 1..4] };
        rank.all_gather(q, &mut buffer, &shares).unwrap_err()
    });
    let [expected, got] = ["(2 to 2, 4 in all)", "(1 to 3, 4 in all)"].map(|lens| format!("all-gather of u32 {lens}"));
    assert_eq!(failed, vec![CollectiveError::Disagrees { rank: 1, expected, got }; 2]);
    assert_eq!(session.reports(), []);
}

#[test]
fn views_and_queues_that_will_not_do_end_all() {
    let session = simulate("devices=3").unwrap();
    on_ranks(2, LONG, |q, rank| definitions::ends_out_of_range(q, &rank));

    let other = open(2);
    let failed = on_ranks(2, LONG, |q, rank| {
        let q = if rank.rank() == 0 { &other } else { q };
        rank.broadcast(q, 0, &mut q.zeros::<u32>(2).unwrap(), 0..2).unwrap_err()
    });
    let mixed = BackendError::MixedBackend { op: "broadcast" };
    assert_eq!(failed, [mixed.into(), CollectiveError::GaveUp { rank: 0 }]);

    for op in ["all_gather", "all_to_all", "broadcast"] {
        let failed = on_ranks(2, LONG, |q, rank| {
            let owner = if rank.rank() == 0 { &other } else { q };
            let (src, mut buffer) = (owner.zeros::<u32>(2).unwrap(), owner.zeros::<u32>(2).unwrap());
            let ended = match op {
                "all_gather" => rank.all_gather(q, &mut buffer, &[0..1, 1..2]),
                "all_to_all" => rank.all_to_all(q, src.view(), buffer.view_mut()),
                _ => rank.broadcast(q, 0, &mut buffer, 0..2),
            };
            ended.unwrap_err()
        });
        let mixed = BackendError::MixedBackend { op };
        assert_eq!(failed, [mixed.into(), CollectiveError::GaveUp { rank: 0 }]);
    }

    let failed = on_ranks(2, LONG, |q, rank| {
        let mut buffer = q.zeros::<u32>(2).unwrap();
        let mut refused = None;
        let graph = q.record::<BackendError>(|q| {
            refused = rank.broadcast(q, 0, &mut buffer, 0..2).err();
            Ok(())
        });
        assert!(graph.unwrap().is_none());
        refused.unwrap()
    });
    assert!(
        failed.iter().any(|why| matches!(why, CollectiveError::Backend(BackendError::Unsupported { .. }))),
        "{failed:?}"
    );
    drop(other);
    assert_eq!(session.reports(), []);
}

#[test]
fn a_thread_that_panics_ends_all() {
    let _session = simulate("devices=3").unwrap();
    let queues = queues(3);
    definitions::panic_ends_all(&queues, LocalNcclRank::group(&queues).unwrap());
}

#[test]
fn two_ranks_on_one_device_are_refused_by_the_library() {
    let session = simulate("devices=2").unwrap();
    let queues = [open(1), open(1)];
    let refused = collective(LocalNcclRank::group(&queues).unwrap_err());
    let CollectiveError::Library { code: 5, name: "ncclInvalidUsage", .. } = &refused else { panic!("{refused}") };
    drop(queues);
    assert!(!session.reports().iter().any(|report| matches!(report, cuda_sim::driver::Report::Leak(_))));
}

/// A rank whose device is lost during an exchange: the words that the others wait for never come.
#[test]
fn a_device_that_is_lost_leaves_nobody_waiting_and_nobody_with_what_did_not_come() {
    for (wait, schedule) in [(false, "lazy"), (true, "lazy"), (true, "random;seed=2")] {
        let session = simulate(&format!("devices=2;schedule={schedule}")).unwrap();
        let queues = queues(2);
        let group = LocalNcclRank::among(&queues, Local::patient_group(2, LONG)).unwrap();
        let ended = on_threads(&queues, group, |q, rank| {
            let own = rank.rank();
            let mut buffer = q.upload(&[own as u32; 2]).unwrap();
            q.finish().unwrap();
            if own == 1 {
                session.inject("late=719@cuMemsetD8Async:1".parse().unwrap());
                q.clear(buffer.view_mut()).unwrap();
            }
            rank.all_gather(q, &mut buffer, &[0..1, 1..2])?;
            if own == 1 && wait {
                q.finish()?;
            }
            // The other waits in the driver.
            q.download(&buffer)?;
            Ok::<_, CollectiveError>(())
        });
        for (rank, ended) in ended.into_iter().enumerate() {
            // Shuffled streams may lose it before the exchange is submitted.
            if schedule != "lazy" {
                let early = [Err(CollectiveError::GaveUp { rank: 1 })].contains(&ended)
                    || matches!(ended, Err(CollectiveError::Library { code: 1, name: "ncclUnhandledCudaError", .. }));
                if early {
                    continue;
                }
            }
            let Err(CollectiveError::Backend(BackendError::DeviceLost { cause, .. })) = ended else {
                panic!("rank {rank}: {ended:?}")
            };
            let reason = ["was aborted: rank 1 gave up", "CUDA_ERROR_LAUNCH_FAILED"][rank];
            assert!(cause.contains(reason), "rank {rank}: {cause}");
        }
    }
}
