//! All four calls, on devices and links of every kind and in every order of streams.

use backend_api::{BackendError, Buffer as _, Collective as _, CollectiveError, Fork as _, Queue as _, Ranks as _};
use cuda_backend::{Allocator, CudaQueue, PeerRank};

use super::{on_ranks, open, open_with};
use crate::{
    definitions::{self, POISON, shares},
    device::support::{SimMachine, scale},
};

/// Calls all four with lengths of every kind, some of them twice without a wait between.
fn hold(queues: &[CudaQueue]) {
    let ranks = queues.len();
    let odd: Vec<usize> = (0..ranks).map(|rank| [3, 0, 1, 701][rank % 4]).collect();
    let last: Vec<usize> = (0..ranks).map(|rank| if rank + 1 == ranks { 5 } else { 0 }).collect();
    for lens in [odd, last, vec![2; ranks], vec![0; ranks]] {
        gather(queues, &lens);
    }
    on_ranks(queues, PeerRank::group(queues).unwrap(), |q, rank| {
        [0, 1, 3, 1025].into_iter().for_each(|part| definitions::transposes(q, &rank, part, 1));
        (0..ranks).for_each(|root| definitions::broadcasts(q, &rank, root));
    });
}

fn gather(queues: &[CudaQueue], lens: &[usize]) {
    let (shares, ranks) = (shares(lens, 0), lens.len());
    let all = |factor: u32| -> Vec<u32> {
        let share = |rank: usize| (0..lens[rank]).map(move |index| factor * (1_000_000 * rank + index) as u32);
        (0..ranks).flat_map(share).collect()
    };
    on_ranks(queues, PeerRank::group(queues).unwrap(), |q, rank| {
        let (own, total) = (rank.rank(), lens.iter().sum());
        let mut buffer = q.upload(&vec![POISON; total]).unwrap();
        let share = shares[own].clone();
        q.write(&all(1)[share.clone()], buffer.slice_mut(share.clone()).unwrap()).unwrap();
        rank.all_gather(q, &mut buffer, &shares).unwrap();
        // What comes of a call goes into the next.
        if total > 0 {
            scale(q, &mut buffer.view_mut(), 3).unwrap();
        }
        for (_, share) in shares.iter().enumerate().filter(|(rank, _)| *rank != own) {
            q.write(&vec![POISON; share.len()], buffer.slice_mut(share.clone()).unwrap()).unwrap();
        }
        rank.all_gather(q, &mut buffer, &shares).unwrap();
        assert_eq!(q.download(&buffer).unwrap(), all(3));
        let sent = |to: usize| if to == own { 0 } else { 2 * 4 * share.len() as u64 };
        assert_eq!(rank.sent_bytes(), (0..ranks).map(sent).collect::<Vec<_>>());
    });
}

#[test]
fn every_call_brings_what_it_says_over_every_link() {
    let links = ["peer=copies", "links=0-1:nvlink,0-2:pcie,1-2:dropped,2-3:none", "peer=off"];
    for (link, schedule) in
        links.into_iter().flat_map(|link| ["eager", "lazy", "random;seed=3"].map(|schedule| (link, schedule)))
    {
        for (ranks, allocator) in [(1, Allocator::Auto), (2, Allocator::Auto), (4, Allocator::Caching)] {
            let _machine = SimMachine::clean(&format!("devices=4;{link};schedule={schedule};checks=sanitize"));
            hold(&open_with(ranks, allocator));
        }
    }
}

#[test]
fn several_ranks_may_be_on_one_device() {
    for schedule in ["eager", "lazy", "random;seed=5"] {
        let _machine = SimMachine::clean(&format!("devices=2;schedule={schedule};checks=sanitize"));
        // Two that were opened apart, a second stream of one of them, and one on another device.
        let mut queues = open(2);
        queues.extend(open(1));
        queues.push(queues[0].fork().unwrap());
        hold(&queues);
    }
}

#[test]
fn links_carry_what_is_said_to_be_sent_and_calls_do_not_wait() {
    let machine = SimMachine::new("devices=4;schedule=lazy;peer=copies");
    let queues = open(4);
    let group = PeerRank::group(&queues).unwrap();
    let before = machine.counters();
    let lens = [3, 0, 700, 1];
    let sent = on_ranks(&queues, group, |q, rank| {
        let mut buffer = q.zeros::<u32>(lens.iter().sum()).unwrap();
        rank.all_gather(q, &mut buffer, &shares(&lens, 0)).unwrap();
        let (src, mut dst) = (q.zeros::<u64>(4 * 9).unwrap(), q.zeros::<u64>(4 * 9).unwrap());
        rank.all_to_all(q, src.view(), dst.view_mut()).unwrap();
        rank.broadcast(q, 2, &mut buffer, 0..5).unwrap();
        rank.sent_bytes()
    });
    let after = machine.counters();
    assert_eq!(after.synchronisations, before.synchronisations, "no thread waited for a device");
    assert_eq!(after.bytes_to_host, before.bytes_to_host);
    assert_eq!(sent[2], [4 * 700 + 8 * 9 + 20, 4 * 700 + 8 * 9 + 20, 0, 4 * 700 + 8 * 9 + 20]);
    for (from, to) in (0..4).flat_map(|from| (0..4).map(move |to| (from, to))) {
        let of = |counted: &std::collections::BTreeMap<(u32, u32), u64>| counted.get(&(from, to)).copied().unwrap_or(0);
        let carried = of(&after.bytes_between_devices) - of(&before.bytes_between_devices);
        assert_eq!(carried, sent[from as usize][to as usize], "from {from} to {to}");
    }
}

#[test]
fn memory_is_not_reused_while_others_copy_from_it() {
    for (link, schedule) in ["peer=copies", "peer=off"].into_iter().zip(["lazy", "random;seed=9"]) {
        let _machine = SimMachine::clean(&format!("devices=3;{link};schedule={schedule};checks=sanitize"));
        let queues = open_with(3, Allocator::Caching);
        on_ranks(&queues, PeerRank::group(&queues).unwrap(), |q, rank| {
            for round in 0..8u32 {
                let own = rank.rank() as u32;
                let src = q.upload(&[100 * round + own; 3 * 64]).unwrap();
                let branch = q.fork().unwrap();
                let mut dst = branch.zeros::<u32>(3 * 64).unwrap();
                rank.all_to_all(q, src.view(), dst.view_mut()).unwrap();
                drop(src);
                // Takes the memory that was given back just now, and overwrites it.
                let after = q.upload(&[POISON; 3 * 64]).unwrap();
                // A use on another stream of the device comes after the call too.
                scale(&branch, &mut dst.view_mut(), 2).unwrap();
                let expected: Vec<u32> = (0..3).flat_map(|from| [2 * (100 * round + from); 64]).collect();
                assert_eq!(branch.download(&dst).unwrap(), expected);
                drop((after, dst));
            }
        });
    }
}

/// A rank waits for another while the host sees all work of its stream done: its offer is in use
/// all the same.
#[test]
fn memory_that_is_offered_is_in_use_although_its_stream_is_done() {
    let _machine = SimMachine::clean("devices=2;schedule=lazy;checks=sanitize");
    let queues = open(2);
    let (say, hear) = std::sync::mpsc::channel();
    let hear = std::sync::Mutex::new(hear);
    let q = &queues[0];
    let group = PeerRank::group(&queues).unwrap();
    test_process::scope(|scope| {
        scope.spawn(|| {
            // Until the other rank has come to the call, and no longer than that takes.
            for _ in 0..20 {
                std::thread::sleep(core::time::Duration::from_millis(5));
                q.finish().unwrap();
            }
            say.send(()).unwrap();
        });
        on_ranks(&queues, group, |q, rank| {
            // Memory of another stream of the device comes and goes in that one's order.
            let home = q.fork().unwrap();
            let src = home.upload(&[rank.rank() as u32; 64]).unwrap();
            let mut dst = q.zeros::<u32>(64).unwrap();
            if rank.rank() == 1 {
                hear.lock().unwrap().recv().unwrap();
            }
            rank.all_to_all(q, src.view(), dst.view_mut()).unwrap();
            drop(src);
            home.finish().unwrap();
            assert_eq!(q.download(&dst).unwrap(), [[0; 32], [1; 32]].concat());
        });
    });
}

#[test]
fn wrong_arguments_are_named() {
    let _machine = SimMachine::new("devices=2");
    let queues = open(2);
    let group = PeerRank::group(&queues).unwrap();
    let (q, rank) = (&queues[0], &group[0]);
    definitions::names_wrong_arguments(q, rank);
    // So is a queue or a view of another device, and the group has ended then.
    let mixed = |op| Err(CollectiveError::Backend(BackendError::MixedBackend { op }));
    assert_eq!(rank.barrier(&queues[1]), mixed("barrier"));
    assert_eq!(group[1].barrier(&queues[1]), Err(CollectiveError::GaveUp { rank: 0 }));
    let mut foreign = queues[1].zeros::<u32>(4).unwrap();
    assert_eq!(rank.broadcast(q, 0, &mut foreign, 0..4), mixed("broadcast"));
    assert_eq!(rank.all_gather(q, &mut foreign, &shares(&[2, 2], 0)), mixed("all_gather"));
}
