//! The result of each call, by its definition.

use backend_api::{Buffer as _, Collective as _, CollectiveError, Queue as _, Ranks as _};
use core_types::field::{M31, QM31};
use cuda_sim::driver::{Simulation, simulate};

use super::{LONG, on_ranks, queues};
use crate::device::support::shares;

const SPECS: [&str; 4] = [
    "devices=4",
    "devices=4;schedule=lazy;checks=sanitize",
    "devices=4;schedule=random;seed=5;checks=sanitize",
    "devices=4;links=0-1:nvlink,1-2:none",
];

fn clean(session: &Simulation) {
    assert_eq!(session.reports(), []);
    assert_eq!(session.counters().legacy_operations, 0);
}

/// What was sent between devices, from each to each other one, in bytes.
fn assert_sent(session: &Simulation, expected: impl Fn(usize, usize) -> u64, ranks: usize) {
    let counted = session.counters().nccl_bytes;
    let pairs = (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to))).filter(|(from, to)| from != to);
    for (from, to) in pairs {
        let counted = counted.get(&(from as u32, to as u32)).copied().unwrap_or(0);
        assert_eq!(counted, expected(from, to), "from {from} to {to}");
    }
}

#[test]
fn all_gather_brings_every_share_to_every_rank_and_counts_what_it_sends() {
    for (spec, lens) in SPECS.iter().flat_map(|spec| {
        [&[3][..], &[2, 2], &[0, 5], &[1, 0, 7, 2], &[3, 3, 3, 3], &[0, 0, 0, 0], &[0, 0, 1, 0]]
            .map(|lens| (spec, lens))
    }) {
        for gap in [0, 1] {
            let session = simulate(spec).unwrap();
            let (shares, ranks) = (shares(lens, gap), lens.len());
            let len = shares.last().unwrap().end;
            // What no rank has to bring each has for itself.
            let value = |rank: usize, index: usize| M31::from_u32((100 * rank + index) as u32);
            on_ranks(ranks, LONG, |q, rank| {
                let own = rank.rank();
                let at = |index| shares.iter().position(|share| share.contains(&index)).unwrap_or(own);
                let expected: Vec<M31> = (0..len).map(|index| value(at(index), index)).collect();
                let before: Vec<M31> = (0..len).map(|index| value(own, index)).collect();
                let mut buffer = q.upload(&before).unwrap();
                rank.all_gather(q, &mut buffer, &shares).unwrap();
                assert_eq!(q.download(&buffer).unwrap(), expected, "{spec} {lens:?}");
                let sent = |to: usize| if to == own { 0 } else { 4 * lens[own] as u64 };
                assert_eq!(rank.sent_bytes(), (0..ranks).map(sent).collect::<Vec<_>>());
            });
            assert_sent(&session, |from, _| 4 * lens[from] as u64, ranks);
            clean(&session);
        }
    }
}

#[test]
fn ranks_whose_shares_lie_elsewhere_still_meet() {
    let session = simulate("devices=2").unwrap();
    on_ranks(2, LONG, |q, rank| {
        let own = rank.rank();
        // The shares of rank 1 have a gap between them, and are in reverse order.
        let shares = if own == 0 { [0..2, 2..4] } else { [3..5, 0..2] };
        let mut buffer = q.upload(&[10 * own as u32; 5]).unwrap();
        let said = [1, 2].map(|word| 100 * own as u32 + word);
        q.write(&said, buffer.slice_mut(shares[own].clone()).unwrap()).unwrap();
        rank.all_gather(q, &mut buffer, &shares).unwrap();
        let expected = if own == 0 { [1, 2, 101, 102, 0] } else { [101, 102, 10, 1, 2] };
        assert_eq!(q.download(&buffer).unwrap(), expected);
    });
    clean(&session);
}

#[test]
fn all_to_all_transposes_parts() {
    for (spec, ranks) in SPECS.iter().flat_map(|spec| [1, 2, 3, 4].map(|ranks| (spec, ranks))) {
        let session = simulate(spec).unwrap();
        let part = 3;
        let value = |from: usize, to: usize, index: usize| (10_000 * from + 100 * to + index) as u32;
        on_ranks(ranks, LONG, |q, rank| {
            let own = rank.rank();
            for round in 0..3 {
                let parts = |of: &dyn Fn(usize, usize) -> u32| -> Vec<u32> {
                    (0..ranks)
                        .flat_map(|other| (0..part).map(move |index| (other, index)))
                        .map(|(other, index)| of(other, index) + round)
                        .collect()
                };
                let src = q.upload(&parts(&|to, index| value(own, to, index))).unwrap();
                let mut dst = q.zeros::<u32>(ranks * part).unwrap();
                rank.all_to_all(q, src.view(), dst.view_mut()).unwrap();
                drop(src);
                assert_eq!(q.download(&dst).unwrap(), parts(&|from, index| value(from, own, index)), "{spec}");
                let (none, mut nothing) = (q.zeros::<u32>(0).unwrap(), q.zeros::<u32>(0).unwrap());
                rank.all_to_all(q, none.view(), nothing.view_mut()).unwrap();
            }
            let sent = |to: usize| if to == own { 0 } else { 3 * 4 * part as u64 };
            assert_eq!(rank.sent_bytes(), (0..ranks).map(sent).collect::<Vec<_>>());
        });
        assert_sent(&session, |_, _| 3 * 4 * part as u64, ranks);
        clean(&session);
    }
}

#[test]
fn broadcast_brings_what_the_root_has() {
    for (spec, (ranks, root)) in
        SPECS.iter().flat_map(|spec| [(1, 0), (3, 0), (3, 2), (4, 1)].map(|sizes| (spec, sizes)))
    {
        let session = simulate(spec).unwrap();
        on_ranks(ranks, LONG, |q, rank| {
            let own = QM31::from_coordinates([1, 2, 3, rank.rank() as u32].map(M31::from_u32));
            let mut buffer = q.upload(&[own; 4]).unwrap();
            rank.broadcast(q, root, &mut buffer, 1..3).unwrap();
            rank.broadcast(q, root, &mut buffer, 2..2).unwrap();
            rank.barrier(q).unwrap();
            let said = QM31::from_coordinates([1, 2, 3, root as u32].map(M31::from_u32));
            assert_eq!(q.download(&buffer).unwrap(), [own, said, said, own], "{spec}");
            let sent = |to: usize| if rank.rank() == root && to != root { 32 } else { 0 };
            assert_eq!(rank.sent_bytes(), (0..ranks).map(sent).collect::<Vec<_>>());
        });
        assert_sent(&session, |from, _| if from == root { 32 } else { 0 }, ranks);
        clean(&session);
    }
}

#[test]
fn calls_are_work_on_the_queue_and_nobody_waits_for_it() {
    let session = simulate("devices=2;schedule=lazy;checks=sanitize").unwrap();
    let queues = queues(2);
    let group = super::LocalNcclRank::group(&queues).unwrap();
    let mut buffers: Vec<_> = queues.iter().map(|q| q.zeros::<u32>(4).unwrap()).collect();
    test_process::scope(|scope| {
        for ((q, rank), buffer) in queues.iter().zip(&group).zip(&mut buffers) {
            scope.spawn(move || {
                for round in 0..4u32 {
                    // Written before, and again after: each exchange carries the content at its turn.
                    let own = rank.rank();
                    q.write(&[10 * round + own as u32], buffer.slice_mut(own..own + 1).unwrap()).unwrap();
                    rank.all_gather(q, buffer, &[0..1, 1..2]).unwrap();
                    let (gathered, mut kept) = (q.zeros::<u32>(2).unwrap(), q.zeros::<u32>(2).unwrap());
                    q.copy(buffer.slice(0..2).unwrap(), kept.view_mut()).unwrap();
                    q.copy(kept.view(), buffer.slice_mut(2..4).unwrap()).unwrap();
                    drop(gathered);
                }
            });
        }
    });
    assert_eq!(session.counters().synchronisations, 0);
    assert!(session.is_busy());
    for (q, buffer) in queues.iter().zip(&buffers) {
        assert_eq!(q.download(buffer).unwrap(), [30, 31, 30, 31]);
    }
    drop((group, buffers, queues));
    clean(&session);
}

#[test]
fn wrong_arguments_are_named_before_anything_is_sent() {
    let _session = simulate("devices=2").unwrap();
    let queues = queues(2);
    let group = super::LocalNcclRank::group(&queues).unwrap();
    let (q, rank) = (&queues[0], &group[0]);
    let (three, mut four) = (q.zeros::<u32>(3).unwrap(), q.zeros::<u32>(4).unwrap());
    let expected = CollectiveError::Shares { expected: 2, got: 3 };
    assert_eq!(rank.all_gather(q, &mut four, &[0..1, 1..2, 2..3]), Err(expected));
    let expected = CollectiveError::Parts { ranks: 2, src: 3, dst: 4 };
    assert_eq!(rank.all_to_all(q, three.view(), four.view_mut()), Err(expected));
    assert_eq!(rank.broadcast(q, 2, &mut four, 0..4), Err(CollectiveError::Root { ranks: 2, got: 2 }));
}
