//! Ranks of one process exchange data by the definitions, or fail together.
#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

use core::time::Duration;
use std::sync::Barrier;

use backend_api::{Collective as _, CollectiveError, Queue as _, Ranks as _};
use collective::{Call, Local, Staged};
use cpu_backend::{CpuConfig, CpuQueue};

mod definitions;

use definitions::{on_threads, shares};

type Rank = Staged<Local>;

fn queues(count: usize) -> Vec<CpuQueue> {
    (0..count).map(|_| CpuQueue::open(CpuConfig::default()).unwrap()).collect()
}

/// Runs each rank of a group on a thread, and returns their results.
fn on_ranks<V: Send>(group: Vec<Rank>, run: impl Fn(&CpuQueue, Rank) -> V + Sync) -> Vec<V> {
    on_threads(&queues(group.len()), group, run)
}

#[test]
fn all_gather_brings_every_share_to_every_rank_and_counts_what_it_sends() {
    for lens in [&[3][..], &[2, 2], &[0, 5, 1], &[1, 0, 7, 0, 2]] {
        let shares = shares(lens, 0);
        on_ranks(Local::group(lens.len()), |q, rank| definitions::gathers(q, &rank, &shares));
    }
}

#[test]
fn all_to_all_transposes_parts() {
    for ranks in 1..=5 {
        on_ranks(Local::group(ranks), |q, rank| definitions::transposes(q, &rank, 3, 20));
    }
}

#[test]
fn broadcast_copies_the_roots_range_and_only_the_root_sends() {
    for (ranks, root) in [(1, 0), (3, 0), (3, 2), (4, 1)] {
        on_ranks(Local::group(ranks), |q, rank| definitions::broadcasts(q, &rank, root));
    }
}

#[test]
fn wrong_arguments_are_named_before_anything_is_sent() {
    // The other rank never comes, so a call that passes the checks fails when patience ends.
    definitions::names_wrong_arguments(&queues(1)[0], &Local::patient_group(2, Duration::from_secs(10))[0]);
}

#[test]
fn a_rank_that_ends_stalls_or_gives_up_ends_all_with_its_name() {
    definitions::ends_all_with_the_name(4, |run| on_ranks(Local::group(4), run));
    for odd in 0..4 {
        let failed = on_ranks(Local::group(4), |q, rank| {
            let mut buffer = q.zeros::<u32>(8).unwrap();
            let lens = if rank.rank() == odd { [1, 2, 3, 2] } else { [2; 4] };
            rank.all_gather(q, &mut buffer, &shares(&lens, 0)).unwrap_err()
        });
        let (usual, other) = ("all-gather of u32 (2 to 2, 8 in all)", "all-gather of u32 (1 to 2, 8 in all)");
        // Rank 0 is the reference for all others.
        let disagrees = if odd == 0 { (1, other, usual) } else { (odd, usual, other) };
        let (rank, expected, got) = disagrees;
        let disagrees = CollectiveError::Disagrees { rank, expected: expected.to_owned(), got: got.to_owned() };
        assert_eq!(failed, vec![disagrees; 4]);
    }
    for odd in 0..2 {
        let has_failed = Barrier::new(2);
        let group = Local::patient_group(2, definitions::BRIEF);
        on_ranks(group, |q, rank| definitions::stalls(q, &rank, odd, &has_failed));
    }
    assert_eq!(Call::barrier().to_string(), "barrier of u32");
}

#[test]
fn a_thread_that_panics_ends_all() {
    definitions::panic_ends_all(&queues(3), Local::group(3));
}

#[test]
fn a_device_that_fails_ends_all() {
    on_ranks(Local::group(2), |q, rank| definitions::ends_out_of_range(q, &rank));
}

#[test]
fn ranks_do_not_mix_up_exchanges_that_follow_each_other() {
    on_ranks(Local::group(3), |q, rank| {
        for round in 0..500u32 {
            let mut buffer = q.upload(&[round * 3 + rank.rank() as u32; 3]).unwrap();
            rank.all_gather(q, &mut buffer, &[0..1, 1..2, 2..3]).unwrap();
            assert_eq!(q.download(&buffer).unwrap(), [round * 3, round * 3 + 1, round * 3 + 2]);
        }
    });
}
