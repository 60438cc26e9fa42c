//! What ranks bring each other.

use backend_api::{Collective as _, Ranks as _};
use collective::{Call, Message, Staged, Transport as _};
use collective_mpi::{JoinError, Mpi};
use runtime::cpu;

use crate::{
    definitions::{self, shares},
    start::{LONG, on_ranks},
};

#[test]
fn all_gather_brings_every_share_to_every_rank_and_counts_what_it_sends() {
    const NAME: &str = "brought::all_gather_brings_every_share_to_every_rank_and_counts_what_it_sends";
    on_ranks(NAME, &[1, 2, 4], LONG, |mpi| {
        let (q, rank) = (cpu().unwrap(), Staged::new(mpi));
        for lens in [[3, 3, 3, 3], [0, 5, 1, 1000], [1, 0, 70_001, 0], [0; 4]] {
            definitions::gathers(&q, &rank, &shares(&lens[..rank.ranks()], 0));
        }
    });
}

#[test]
fn all_to_all_transposes_parts() {
    on_ranks("brought::all_to_all_transposes_parts", &[1, 2, 4], LONG, |mpi| {
        // Each rank runs at full speed: words of one round are never taken for words of another.
        definitions::transposes(&cpu().unwrap(), &Staged::new(mpi), 37, 50);
    });
}

#[test]
fn broadcast_brings_what_each_root_has() {
    on_ranks("brought::broadcast_brings_what_each_root_has", &[1, 4], LONG, |mpi| {
        let (q, rank) = (cpu().unwrap(), Staged::new(mpi));
        (0..rank.ranks()).for_each(|root| definitions::broadcasts(&q, &rank, root));
    });
}

#[test]
fn wrong_arguments_are_named_and_the_group_goes_on() {
    on_ranks("brought::wrong_arguments_are_named_and_the_group_goes_on", &[2], LONG, |mpi| {
        let (q, rank) = (cpu().unwrap(), Staged::new(mpi));
        definitions::names_wrong_arguments(&q, &rank);
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
