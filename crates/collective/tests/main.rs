//! Ranks of one process exchange data by the definitions, or fail together.
#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

use core::{ops::Range, time::Duration};
use std::sync::{Arc, Barrier};

use backend_api::{BackendError, Buffer as _, Collective as _, CollectiveError, Queue as _, Ranks as _};
use collective::{Local, Staged};
use core_types::field::{M31, QM31};
use cpu_backend::{CpuConfig, CpuError, CpuQueue};

type Rank = Staged<Local>;

fn cpu() -> Result<CpuQueue, CpuError> {
    CpuQueue::open(CpuConfig::default())
}

/// Runs each rank of a group on a thread, and returns what they returned.
fn on_ranks<V: Send>(group: Vec<Rank>, run: impl Fn(Rank) -> V + Sync) -> Vec<V> {
    let run = &run;
    test_process::scope(|scope| {
        let ranks: Vec<_> = group.into_iter().map(|rank| scope.spawn(move || run(rank))).collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

fn shares(lens: &[usize]) -> Vec<Range<usize>> {
    let ends: Vec<usize> = lens
        .iter()
        .scan(0, |end, len| {
            *end += len;
            Some(*end)
        })
        .collect();
    ends.iter().zip(lens).map(|(end, len)| end - len..*end).collect()
}

#[test]
fn all_gather_brings_every_share_to_every_rank_and_counts_what_it_sends() {
    for lens in [&[3][..], &[2, 2], &[0, 5, 1], &[1, 0, 7, 0, 2]] {
        let (shares, ranks) = (shares(lens), lens.len());
        let value = |rank: usize, index: usize| M31::from_u32((100 * rank + index) as u32);
        let all: Vec<M31> = shares
            .iter()
            .enumerate()
            .flat_map(|(rank, share)| share.clone().map(move |index| value(rank, index)))
            .collect();
        on_ranks(Local::group(ranks), |rank| {
            let (q, own) = (cpu().unwrap(), rank.rank());
            // What others have there is poison.
            let mut buffer = q.upload(&vec![M31::from_u32(999_999); all.len()]).unwrap();
            let share = shares[own].clone();
            q.write(&all[share.clone()], buffer.slice_mut(share.clone()).unwrap()).unwrap();
            rank.all_gather(&q, &mut buffer, &shares).unwrap();
            assert_eq!(q.download(&buffer).unwrap(), all);
            let sent = |to: usize| if to == own { 0 } else { 4 * share.len() as u64 };
            assert_eq!(rank.sent_bytes(), (0..ranks).map(sent).collect::<Vec<_>>());
        });
    }
}

#[test]
fn all_to_all_transposes_parts() {
    for ranks in 1..=5 {
        let part = 3;
        let value = |from: usize, to: usize, index: usize| (10_000 * from + 100 * to + index) as u32;
        on_ranks(Local::group(ranks), |rank| {
            let (q, own) = (cpu().unwrap(), rank.rank());
            for round in 0..20 {
                let parts = |of: &dyn Fn(usize, usize) -> u32| -> Vec<u32> {
                    (0..ranks)
                        .flat_map(|other| (0..part).map(move |index| (other, index)))
                        .map(|(other, index)| of(other, index) + round)
                        .collect()
                };
                let src = q.upload(&parts(&|to, index| value(own, to, index))).unwrap();
                let mut dst = q.zeros::<u32>(ranks * part).unwrap();
                rank.all_to_all(&q, src.view(), dst.view_mut()).unwrap();
                assert_eq!(q.download(&dst).unwrap(), parts(&|from, index| value(from, own, index)));
            }
            let sent = |to: usize| if to == own { 0 } else { 20 * 4 * part as u64 };
            assert_eq!(rank.sent_bytes(), (0..ranks).map(sent).collect::<Vec<_>>());
        });
    }
}

#[test]
fn broadcast_copies_the_roots_range_and_only_the_root_sends() {
    for (ranks, root) in [(1, 0), (3, 0), (3, 2), (4, 1)] {
        on_ranks(Local::group(ranks), |rank| {
            let q = cpu().unwrap();
            let own = QM31::from_coordinates([1, 2, 3, rank.rank() as u32].map(M31::from_u32));
            let mut buffer = q.upload(&[own; 4]).unwrap();
            rank.broadcast(&q, root, &mut buffer, 1..3).unwrap();
            rank.barrier(&q).unwrap();
            let said = QM31::from_coordinates([1, 2, 3, root as u32].map(M31::from_u32));
            assert_eq!(q.download(&buffer).unwrap(), [own, said, said, own]);
            let sent = |to: usize| if rank.rank() == root && to != root { 2 * 16 } else { 0 };
            assert_eq!(rank.sent_bytes(), (0..ranks).map(sent).collect::<Vec<_>>());
        });
    }
}

#[test]
fn wrong_arguments_are_named_before_anything_is_sent() {
    let q = cpu().unwrap();
    // The other rank never comes, so a call that passes the checks fails when patience ends.
    let rank = &Local::patient_group(2, Duration::from_secs(10))[0];
    let (three, mut four) = (q.zeros::<u32>(3).unwrap(), q.zeros::<u32>(4).unwrap());
    let expected = CollectiveError::Shares { expected: 2, got: 3 };
    assert_eq!(rank.all_gather(&q, &mut four, &shares(&[1, 1, 1])), Err(expected));
    let expected = CollectiveError::Parts { ranks: 2, src: 3, dst: 4 };
    assert_eq!(rank.all_to_all(&q, three.view(), four.view_mut()), Err(expected));
    let expected = CollectiveError::Parts { ranks: 2, src: 3, dst: 3 };
    assert_eq!(rank.all_to_all(&q, three.view(), four.slice_mut(0..3).unwrap()), Err(expected));
    assert_eq!(rank.broadcast(&q, 2, &mut four, 0..4), Err(CollectiveError::Root { ranks: 2, got: 2 }));
}

/// The errors of all ranks' calls if rank `odd` makes a different one.
fn ended(odd: usize, act: impl Fn(&Rank) + Sync) -> Vec<Option<CollectiveError>> {
    on_ranks(Local::group(4), |rank| {
        let q = cpu().unwrap();
        rank.barrier(&q).unwrap();
        if rank.rank() == odd {
            act(&rank);
            return None;
        }
        let first = rank.barrier(&q).unwrap_err();
        assert_eq!(rank.barrier(&q), Err(first.clone()), "a group that has failed stays so");
        Some(first)
    })
}

#[test]
fn a_rank_that_ends_stalls_or_gives_up_ends_all_with_its_name() {
    for odd in 0..4 {
        let all_but =
            |error: CollectiveError| -> Vec<_> { (0..4).map(|rank| (rank != odd).then(|| error.clone())).collect() };
        assert_eq!(ended(odd, |_| {}), all_but(CollectiveError::Gone { rank: odd }));
        assert_eq!(ended(odd, |rank| rank.give_up()), all_but(CollectiveError::GaveUp { rank: odd }));
        let failed = on_ranks(Local::group(4), |rank| {
            let q = cpu().unwrap();
            let mut buffer = q.zeros::<u32>(8).unwrap();
            let lens = if rank.rank() == odd { [1, 2, 3, 2] } else { [2; 4] };
            rank.all_gather(&q, &mut buffer, &shares(&lens)).unwrap_err()
        });
        let (usual, other) = ("all-gather of u32 (2 to 2, 8 in all)", "all-gather of u32 (1 to 2, 8 in all)");
        // Rank 0 is the reference for all others.
        let disagrees = if odd == 0 { (1, other, usual) } else { (odd, usual, other) };
        let (rank, expected, got) = disagrees;
        let disagrees = CollectiveError::Disagrees { rank, expected: expected.to_owned(), got: got.to_owned() };
        assert_eq!(failed, vec![disagrees; 4]);
    }
    (0..2).for_each(stalls);
}

/// Rank `odd` comes after the other one gave it up. With two ranks and one exchange, no delay changes the result.
fn stalls(odd: usize) {
    let stalled = CollectiveError::Stalled { rank: odd, call: "barrier of u32".to_owned(), seconds: 1 };
    let has_failed = Barrier::new(2);
    on_ranks(Local::patient_group(2, Duration::from_secs(1)), |rank| {
        let q = cpu().unwrap();
        if rank.rank() == odd {
            has_failed.wait();
            assert_eq!(rank.barrier(&q), Err(stalled.clone()), "a late rank gets the error too");
            return;
        }
        let failure = rank.barrier(&q);
        has_failed.wait();
        assert_eq!(failure, Err(stalled.clone()));
        assert_eq!(rank.barrier(&q), failure, "a group that has failed stays so");
    });
}

#[test]
fn a_thread_that_panics_ends_all() {
    let group = Local::group(3);
    let failed: Vec<_> = test_process::scope(|scope| {
        let ranks = group.into_iter().map(|rank| {
            scope.spawn(move || {
                assert_ne!(rank.rank(), 1, "as planned");
                rank.barrier(&cpu().unwrap()).unwrap_err()
            })
        });
        let ranks: Vec<_> = ranks.collect();
        ranks.into_iter().filter_map(|rank| rank.join().ok()).collect()
    });
    assert_eq!(failed, vec![CollectiveError::Gone { rank: 1 }; 2]);
}

#[test]
fn a_device_that_fails_ends_all() {
    let failed = on_ranks(Local::group(2), |rank| {
        let q = cpu().unwrap();
        let mut buffer = q.zeros::<u32>(2).unwrap();
        let end = 2 + rank.rank();
        rank.all_gather(&q, &mut buffer, &[0..1, 1..end]).unwrap_err()
    });
    let out_of_range = BackendError::OutOfRange { start: 1, end: 3, len: 2 };
    assert_eq!(failed, [CollectiveError::GaveUp { rank: 1 }, out_of_range.into()]);
}

#[test]
fn ranks_do_not_mix_up_exchanges_that_follow_each_other() {
    let group: Vec<Arc<Rank>> = Local::group(3).into_iter().map(Arc::new).collect();
    test_process::scope(|scope| {
        for rank in &group {
            scope.spawn(move || {
                let q = cpu().unwrap();
                for round in 0..500u32 {
                    let mut buffer = q.upload(&[round * 3 + rank.rank() as u32; 3]).unwrap();
                    rank.all_gather(&q, &mut buffer, &[0..1, 1..2, 2..3]).unwrap();
                    assert_eq!(q.download(&buffer).unwrap(), [round * 3, round * 3 + 1, round * 3 + 2]);
                }
            });
        }
    });
}
