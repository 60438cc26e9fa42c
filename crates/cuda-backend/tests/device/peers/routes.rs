//! Which way bytes take, and why.

use backend_api::{BackendError, Collective as _, Queue as _};
use cuda_backend::{Allocator, CudaQueue, Detour, Link, PeerRank, Route, links, measured_links};

use super::{on_ranks, open, open_with};
use crate::device::support::SimMachine;

fn between(links: &[Link], from: u32, to: u32) -> &Link {
    links.iter().find(|link| (link.from, link.to) == (from, to)).unwrap()
}

/// Each rank's number at all ranks.
fn gathered(queues: &[CudaQueue]) {
    let expected: Vec<u32> = (0..queues.len() as u32).collect();
    let shares: Vec<_> = (0..queues.len()).map(|rank| rank..rank + 1).collect();
    on_ranks(queues, PeerRank::group(queues).unwrap(), |q, rank| {
        let mut numbers = q.upload(&vec![backend_api::Ranks::rank(&rank) as u32; shares.len()]).unwrap();
        rank.all_gather(q, &mut numbers, &shares).unwrap();
        assert_eq!(q.download(&numbers).unwrap(), expected);
    });
}

#[test]
fn a_link_is_used_if_it_does_what_it_says_and_else_the_reason_stands_there() {
    for allocator in [Allocator::StreamOrdered, Allocator::Caching] {
        let _machine = SimMachine::clean("devices=4;links=0-1:nvlink,0-2:pcie,1-2:dropped");
        let mut queues = open_with(4, allocator);
        queues.extend(open_with(1, allocator));
        let found = links(&queues).unwrap();
        assert_eq!(found.len(), 5 * 4);
        let wrong = Route::Host(Detour::Wrong { bytes: 64 << 10, first: 0 });
        for (a, b, route, rank, atomics) in [
            (0, 1, Route::Peer, 0, true),
            (0, 2, Route::Peer, 1, false),
            (1, 2, wrong.clone(), 1, false),
            (1, 3, Route::Host(Detour::NoAccess), 1, false),
        ] {
            for (from, to) in [(a, b), (b, a)] {
                let expected = Link {
                    from,
                    to,
                    route: route.clone(),
                    performance_rank: Some(rank),
                    native_atomics: Some(atomics),
                    bytes_per_second: None,
                };
                assert_eq!(*between(&found, from, to), expected);
            }
        }
        assert_eq!(between(&found, 0, 0).route, Route::Device);
        assert_eq!(
            wrong.to_string(),
            "through the host: a copy of 65536 bytes was reported complete, but byte 0 was wrong"
        );
        gathered(&queues);
        let group = PeerRank::group(&queues).unwrap();
        assert_eq!(group[3].links(), found);
    }
}

#[test]
fn a_link_is_tried_and_measured_once() {
    let machine = SimMachine::new("devices=3;links=0-1:nvlink,0-2:none;mem=24M");
    let queues = open(3);
    let measured = measured_links(&queues).unwrap();
    // The simulated time of a copy is a microsecond, and a nanosecond for 100 bytes.
    for link in &measured {
        let speed = link.bytes_per_second.unwrap();
        let is_direct = link.from.min(link.to) == 0 && link.from.max(link.to) == 1;
        let least = if is_direct { 9e10 } else { 1e9 };
        assert!(speed > least && speed < 1.01e11, "{link:?}");
        assert_eq!(link.route == Route::Peer, is_direct, "{link:?}");
    }
    let speed = |from, to| between(&measured, from, to).bytes_per_second.unwrap();
    assert!(speed(0, 1) > 1.5 * speed(0, 2), "two copies take longer than one");
    assert!(queues.iter().all(|q| q.budget().live_bytes() == 0));
    let copies = |machine: &SimMachine| {
        let counters = machine.counters();
        (counters.bytes_between_devices, counters.bytes_to_host, counters.calls.get("cuCtxEnablePeerAccess").copied())
    };
    let before = copies(&machine);
    // 64 MiB are halved until they fit; the trial adds 64 KiB.
    assert_eq!(before.0[&(0, 1)], (16 << 20) + (64 << 10));
    assert_eq!(measured_links(&queues).unwrap(), measured);
    assert_eq!(links(&queues).unwrap(), measured);
    assert_eq!(PeerRank::group(&queues).unwrap()[0].links(), measured);
    assert_eq!(copies(&machine), before);
}

#[test]
fn whatever_call_that_only_peers_need_is_refused_bytes_go_through_the_host() {
    let calls = [
        "cuDeviceCanAccessPeer",
        "cuDeviceGetP2PAttribute",
        "cuCtxEnablePeerAccess",
        "cuMemPoolSetAccess",
        "cuMemcpyPeerAsync",
    ];
    for call in calls {
        let made = {
            let machine = SimMachine::new("devices=2");
            gathered(&open(2));
            machine.counters().calls_of(call)
        };
        let tried = made.min(if call == "cuDeviceGetP2PAttribute" { 6 } else { 2 });
        for turn in 1..=tried {
            let machine = SimMachine::clean("devices=2");
            let queues = open(2);
            machine.inject(&format!("fail=1@{call}:{turn}"));
            let found = links(&queues).unwrap();
            let refused: Vec<_> = found.iter().filter(|link| link.route != Route::Peer).collect();
            let [link] = refused[..] else { panic!("{call} {turn}: {found:?}") };
            let Route::Host(Detour::Refused(BackendError::Driver { call: named, code: 1, .. })) = &link.route else {
                panic!("{call} {turn}: {link:?}")
            };
            assert_eq!(*named, call);
            // That direction alone.
            assert_eq!((link.from, link.to), if turn * 2 > tried { (1, 0) } else { (0, 1) }, "{call} {turn}");
            gathered(&queues);
        }
        let machine = SimMachine::new("devices=2");
        let queues = open(2);
        machine.inject(&format!("fail=1@{call}"));
        assert!(links(&queues).unwrap().iter().all(|link| matches!(link.route, Route::Host(Detour::Refused(_)))));
        gathered(&queues);
    }
}

#[test]
fn a_device_that_is_lost_in_a_trial_has_no_link() {
    let machine = SimMachine::new("devices=2");
    let queues = open(2);
    machine.inject("fail=700@cuMemcpyPeerAsync:2");
    assert!(matches!(PeerRank::group(&queues), Err(BackendError::DeviceLost { .. })));
    assert!(queues.iter().all(|q| q.budget().live_bytes() == 0));
}

#[test]
fn access_that_is_there_already_is_as_good() {
    let machine = SimMachine::clean("devices=2");
    let (first, second) = (open_with(2, Allocator::Caching), open_with(2, Allocator::Caching));
    assert!(links(&first).unwrap().iter().all(|link| link.route == Route::Peer));
    // The contexts of the devices are the first queues'.
    assert!(links(&second).unwrap().iter().all(|link| link.route == Route::Peer));
    assert_eq!(machine.counters().calls_of("cuCtxEnablePeerAccess"), 4);
}

#[test]
fn without_pinned_memory_bytes_still_get_there() {
    let _machine = SimMachine::clean("devices=2;peer=off;checks=sanitize");
    let open = |device| {
        let config = crate::device::support::config(Allocator::Auto);
        CudaQueue::open(cuda_backend::CudaConfig { device, pinned_bytes: Some(0), ..config }).unwrap()
    };
    let queues: Vec<_> = (0..2).map(open).collect();
    let words = (5 << 20) / 4;
    on_ranks(&queues, PeerRank::group(&queues).unwrap(), |q, rank| {
        let own = backend_api::Ranks::rank(&rank);
        let mut all = q.upload(&vec![own as u32 + 5; 2 * words]).unwrap();
        rank.all_gather(q, &mut all, &[0..words, words..2 * words]).unwrap();
        let all = q.download(&all).unwrap();
        assert!(all.iter().enumerate().all(|(at, &word)| word == if at < words { 5 } else { 6 }));
    });
}
