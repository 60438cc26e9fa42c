//! What ranks bring each other.

use std::ops::Range;

use backend_api::{Buffer as _, Collective as _, CollectiveError, Queue as _, Ranks as _};
use collective::{Call, Message, Staged, Transport as _};
use collective_mpi::{JoinError, Mpi};
use core_types::field::{M31, QM31};
use runtime::cpu;

use crate::start::{LONG, on_ranks};

/// Shares of these lengths, one after the other.
fn shares(lens: &[usize]) -> Vec<Range<usize>> {
    let ends = lens.iter().scan(0, |end, len| {
        *end += len;
        Some(*end)
    });
    ends.zip(lens).map(|(end, len)| end - len..end).collect()
}

#[test]
fn all_gather_brings_every_share_to_every_rank_and_counts_what_it_sends() {
    const NAME: &str = "brought::all_gather_brings_every_share_to_every_rank_and_counts_what_it_sends";
    on_ranks(NAME, &[1, 2, 4], LONG, |mpi| {
        let rank = Staged::new(mpi);
        let (q, own, ranks) = (cpu().unwrap(), rank.rank(), rank.ranks());
        let mut sent = vec![0; ranks];
        for lens in [[3, 3, 3, 3], [0, 5, 1, 1000], [1, 0, 70_001, 0], [0; 4]] {
            let shares = shares(&lens[..ranks]);
            let value = |rank: usize, index: usize| M31::from_u32((1_000_000 * rank + index) as u32);
            let of = |rank: usize| shares[rank].clone().map(move |index| value(rank, index));
            let all: Vec<M31> = (0..ranks).flat_map(of).collect();
            // What others have there is poison.
            let mut buffer = q.upload(&vec![M31::from_u32(999_999_999); all.len()]).unwrap();
            let share = shares[own].clone();
            q.write(&all[share.clone()], buffer.slice_mut(share.clone()).unwrap()).unwrap();
            rank.all_gather(&q, &mut buffer, &shares).unwrap();
            assert_eq!(q.download(&buffer).unwrap(), all);
            (0..ranks).filter(|&to| to != own).for_each(|to| sent[to] += 4 * share.len() as u64);
            assert_eq!(rank.sent_bytes(), sent);
        }
    });
}

#[test]
fn all_to_all_transposes_parts() {
    on_ranks("brought::all_to_all_transposes_parts", &[1, 2, 4], LONG, |mpi| {
        let rank = Staged::new(mpi);
        let (q, own, ranks, part) = (cpu().unwrap(), rank.rank(), rank.ranks(), 37);
        let value = |from: usize, to: usize, index: usize| (10_000 * from + 1000 * to + index) as u32;
        // Each rank runs at full speed: words of one round are never taken for words of another.
        for round in 0..50 {
            let parts = |of: &dyn Fn(usize, usize) -> u32| -> Vec<u32> {
                let pairs = (0..ranks).flat_map(|other| (0..part).map(move |index| (other, index)));
                pairs.map(|(other, index)| of(other, index) + 100_000 * round).collect()
            };
            let src = q.upload(&parts(&|to, index| value(own, to, index))).unwrap();
            let mut dst = q.zeros::<u32>(ranks * part).unwrap();
            rank.all_to_all(&q, src.view(), dst.view_mut()).unwrap();
            assert_eq!(q.download(&dst).unwrap(), parts(&|from, index| value(from, own, index)));
        }
    });
}

#[test]
fn broadcast_brings_what_each_root_has() {
    on_ranks("brought::broadcast_brings_what_each_root_has", &[1, 4], LONG, |mpi| {
        let rank = Staged::new(mpi);
        let q = cpu().unwrap();
        let of = |rank: usize| QM31::from_coordinates([1, 2, 3, rank as u32].map(M31::from_u32));
        let own = of(rank.rank());
        for root in 0..rank.ranks() {
            let mut buffer = q.upload(&[own; 5]).unwrap();
            rank.broadcast(&q, root, &mut buffer, 1..3).unwrap();
            rank.barrier(&q).unwrap();
            assert_eq!(q.download(&buffer).unwrap(), [own, of(root), of(root), own, own]);
        }
    });
}

#[test]
fn wrong_arguments_are_named_and_the_group_goes_on() {
    on_ranks("brought::wrong_arguments_are_named_and_the_group_goes_on", &[2], LONG, |mpi| {
        let rank = Staged::new(mpi);
        let q = cpu().unwrap();
        let mut four = q.zeros::<u32>(4).unwrap();
        let refused = rank.broadcast(&q, 2, &mut four, 0..4);
        assert_eq!(refused, Err(CollectiveError::Root { ranks: 2, got: 2 }));
        rank.barrier(&q).unwrap();
    });
}

#[test]
fn messages_of_any_length_come_whole() {
    // MPI takes 2^22 words at once.
    const PIECE: usize = 1 << 22;
    on_ranks("brought::messages_of_any_length_come_whole", &[3], LONG, |mpi| {
        let (own, ranks) = (mpi.rank(), mpi.ranks());
        let value = |from: usize, to: usize, index: usize| (index * 31 + 7 * from + 3 * to) as u32;
        // To each rank another length, so that long messages pass short ones and none.
        let lens = [0, 1, PIECE - 1, PIECE, 2 * PIECE + 5];
        let len = |from: usize, to: usize| lens[(2 * from + 3 * to) % lens.len()];
        let part = |from: usize, to: usize| (0..len(from, to)).map(move |index| value(from, to, index));
        let parts: Vec<Vec<u32>> = (0..ranks).map(|to| part(own, to).collect()).collect();
        let parts: Vec<&[u32]> = parts.iter().map(Vec::as_slice).collect();
        let call = Call { name: "parts", element: "u32", lens: vec![] };
        let came = mpi.exchange(&call, Message::Each(&parts)).unwrap();
        assert!(came[own].is_empty(), "nothing is sent to itself");
        for (from, came) in came.iter().enumerate().filter(|(from, _)| *from != own) {
            assert!(came.iter().copied().eq(part(from, own)), "from {from} to {own}");
        }
    });
}

#[test]
fn a_process_joins_once() {
    on_ranks("brought::a_process_joins_once", &[1, 2], LONG, |mpi| {
        let rank = Staged::new(mpi);
        rank.barrier(&cpu().unwrap()).unwrap();
        assert_eq!(Mpi::join(LONG).unwrap_err(), JoinError::Joined);
        drop(rank);
        assert_eq!(Mpi::join(LONG).unwrap_err(), JoinError::Joined, "MPI has ended");
    });
}
