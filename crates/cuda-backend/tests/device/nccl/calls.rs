//! The result of each call, by its definition.

use backend_api::{Buffer as _, Collective as _, Queue as _, Ranks as _};
use cuda_sim::driver::{Simulation, simulate};

use super::{LONG, on_ranks, queues};
use crate::definitions::{self, shares};

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
            let shares = shares(lens, gap);
            on_ranks(lens.len(), LONG, |q, rank| definitions::gathers(q, &rank, &shares));
            assert_sent(&session, |from, _| 4 * lens[from] as u64, lens.len());
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
        on_ranks(ranks, LONG, |q, rank| {
            definitions::transposes(q, &rank, part, 3);
            definitions::transposes(q, &rank, 0, 1);
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
        on_ranks(ranks, LONG, |q, rank| definitions::broadcasts(q, &rank, root));
        assert_sent(&session, |from, _| if from == root { 2 * 16 + 7 * 8 } else { 0 }, ranks);
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
    definitions::names_wrong_arguments(&queues[0], &group[0]);
}
