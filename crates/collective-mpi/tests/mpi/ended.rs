//! What ends one rank ends all, each with the name of who it was.

use std::{
    process::{self, Command},
    thread,
    time::Duration,
};

use backend_api::{Collective as _, CollectiveError, Queue as _, Ranks as _};
use collective::{Call, Message, Staged, Transport as _};
use collective_mpi::Mpi;
use runtime::cpu;

use crate::{
    definitions,
    start::{LONG, joined, mpirun, on_ranks, tell, text, told},
};

/// The rank that does something else than the others.
const ODD: usize = 2;

/// The error of the next call of a rank, and of the one after it.
fn failure(rank: &Staged<Mpi>) -> CollectiveError {
    let q = cpu().unwrap();
    let first = rank.barrier(&q).unwrap_err();
    assert_eq!(rank.barrier(&q), Err(first.clone()), "a group that has failed stays so");
    first
}

/// Exchanges long messages until one fails.
fn failure_of_many(mpi: &Mpi) -> CollectiveError {
    let words = vec![7; 3 << 20];
    let call = Call { name: "many", element: "u32", lens: vec![] };
    (0..10_000).find_map(|_| mpi.exchange(&call, Message::Same(&words)).err()).unwrap()
}

/// Sends a signal to this process, a moment later.
fn signal(name: &str) {
    let line = format!("(sleep 0.3; kill -s {name} {}) &", process::id());
    assert!(Command::new("sh").args(["-c", &line]).status().unwrap().success());
}

#[test]
fn a_rank_that_ends_is_named() {
    on_ranks("ended::a_rank_that_ends_is_named", &[4], LONG, |mpi| {
        let rank = Staged::new(mpi);
        rank.barrier(&cpu().unwrap()).unwrap();
        if rank.rank() != ODD {
            assert_eq!(failure(&rank), CollectiveError::Gone { rank: ODD });
        }
    });
}

#[test]
fn a_rank_that_gives_up_is_named_to_those_who_wait() {
    on_ranks("ended::a_rank_that_gives_up_is_named_to_those_who_wait", &[4], LONG, |mpi| {
        let rank = Staged::new(mpi);
        rank.barrier(&cpu().unwrap()).unwrap();
        if rank.rank() == ODD {
            thread::sleep(Duration::from_millis(200));
            rank.give_up();
        }
        assert_eq!(failure(&rank), CollectiveError::GaveUp { rank: ODD });
    });
}

#[test]
fn a_rank_that_gives_up_amid_exchanges_is_named() {
    const NAME: &str = "ended::a_rank_that_gives_up_amid_exchanges_is_named";
    if let Some(mpi) = joined(LONG) {
        thread::scope(|scope| {
            if mpi.rank() == ODD {
                scope.spawn(|| {
                    thread::sleep(Duration::from_millis(200));
                    mpi.fail(CollectiveError::GaveUp { rank: ODD });
                });
            }
            assert_eq!(failure_of_many(&mpi), CollectiveError::GaveUp { rank: ODD });
        });
        return tell(NAME, mpi.rank());
    }
    // A rank may have pending words that another, which failed before, never receives: it ends
    // without MPI, and `mpirun` reports that.
    let (output, told) = told(NAME, 4);
    assert_eq!(told, [0, 1, 2, 3], "{}", text(&output));
}

#[test]
fn a_rank_that_comes_late_is_named_and_told() {
    // Processes also wait for each other as they join, so patience is long enough for a busy machine.
    on_ranks("ended::a_rank_that_comes_late_is_named_and_told", &[4], Duration::from_secs(10), |mpi| {
        let rank = Staged::new(mpi);
        rank.barrier(&cpu().unwrap()).unwrap();
        if rank.rank() == ODD {
            // Later than their patience, and sooner than the ranks that gave up stop waiting to leave together.
            thread::sleep(Duration::from_secs(13));
        }
        let call = "barrier of u32".to_owned();
        assert_eq!(failure(&rank), CollectiveError::Stalled { rank: ODD, call, seconds: 10 });
    });
}

#[test]
fn a_rank_that_makes_another_call_is_named() {
    on_ranks("ended::a_rank_that_makes_another_call_is_named", &[4], LONG, |mpi| {
        let (rank, q) = (Staged::new(mpi), cpu().unwrap());
        let mut buffer = q.zeros::<u32>(8).unwrap();
        let shares = if rank.rank() == ODD { [0..1, 1..3, 3..6, 6..8] } else { [0..2, 2..4, 4..6, 6..8] };
        let refused = rank.all_gather(&q, &mut buffer, &shares).unwrap_err();
        let [expected, got] = ["2 to 2", "1 to 2"].map(|lens| format!("all-gather of u32 ({lens}, 8 in all)"));
        assert_eq!(refused, CollectiveError::Disagrees { rank: ODD, expected, got });
        assert_eq!(failure(&rank), refused);
    });
}

#[test]
fn a_device_that_fails_ends_all() {
    on_ranks("ended::a_device_that_fails_ends_all", &[2], LONG, |mpi| {
        definitions::ends_out_of_range(&cpu().unwrap(), &Staged::new(mpi));
    });
}

#[test]
fn a_rank_that_hangs_is_named_and_the_others_end() {
    const NAME: &str = "ended::a_rank_that_hangs_is_named_and_the_others_end";
    if let Some(mpi) = joined(Duration::from_secs(10)) {
        if mpi.rank() == ODD {
            signal("STOP");
        }
        let call = "many of u32".to_owned();
        assert_eq!(failure_of_many(&mpi), CollectiveError::Stalled { rank: ODD, call, seconds: 10 });
        // Before any process ends: those that are there then may be killed.
        return tell(NAME, mpi.rank());
    }
    let (output, told) = told(NAME, 4);
    // One process had to be killed.
    assert!(!output.status.success());
    // It goes on for a moment when it is killed.
    assert!([0, 1, 3].iter().all(|rank| told.contains(rank)), "{told:?}: {}", text(&output));
}

#[test]
fn a_rank_that_is_killed_ends_all_and_mpirun_names_it() {
    const NAME: &str = "ended::a_rank_that_is_killed_ends_all_and_mpirun_names_it";
    if let Some(mpi) = joined(LONG) {
        if mpi.rank() == ODD {
            signal("KILL");
        }
        panic!("the others are ended before: {}", failure_of_many(&mpi));
    }
    let output = mpirun(NAME, 4);
    assert!(!output.status.success());
    let said = text(&output);
    assert!(said.contains(&format!("process rank {ODD}")) && said.contains("signal 9"), "{said}");
    assert!(!said.contains("the others are ended before"), "{said}");
}
