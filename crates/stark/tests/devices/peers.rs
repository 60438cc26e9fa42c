//! Proofs of devices that copy from each other.

use backend_api::BackendError;
use runtime::{Choice, CollectiveKind, Detour, Route, ranks};
use stark::PcsConfig;

use crate::{
    common::{Proven, calls_of, device_error, inject, on_queues, simulate},
    devices::{bytes::hold_links, gave_up, group, hold_machines, watched::Watched},
    queues::queues,
    samples::Sample,
};

#[test]
fn devices_that_copy_from_each_other_make_the_proof_of_one() {
    let machines = [
        (1, "devices=8", true),
        (2, "devices=8;schedule=lazy", true),
        (4, "devices=8;schedule=random;seed=4", false),
        (8, "devices=8", false),
    ];
    hold_machines(CollectiveKind::Peer, 40, &machines);
}

#[test]
fn whichever_links_there_are_the_proof_is_the_same() {
    let (config, sample) = (PcsConfig::default(), Sample::wide(4, 12, 0));
    let expected = sample.proven(config);
    let wrong = Route::Host(Detour::Wrong { bytes: 64 << 10, first: 0 });
    for (links, routes) in [
        ("peer=off", [Route::Host(Detour::NoAccess), Route::Host(Detour::NoAccess)]),
        ("links=0-1:dropped,2-3:nvlink,0-3:pcie", [wrong, Route::Peer]),
        ("links=0-1:nvlink", [Route::Peer, Route::Host(Detour::NoAccess)]),
    ] {
        let session = simulate(&format!("devices=4;{links}"));
        let queues = queues(Choice::Sim, 4);
        let group = ranks(&queues).unwrap();
        let route = |from, to| {
            let link = group[0].links().iter().find(|link| (link.from, link.to) == (from, to)).unwrap();
            link.route.clone()
        };
        assert_eq!([route(0, 1), route(3, 2)], routes, "{links}");
        let made = on_queues(&queues, group, |q, rank| sample.prove_sharded(q, Watched::new(rank), config));
        assert!(made.iter().all(|proof| *proof == expected), "{links}");
        drop(queues);
        assert_eq!(session.reports(), [], "{links}");
    }
}

/// The driver's links carry the bytes expected from the sizes of a proof: every read of another device is an
/// exchange.
#[test]
fn the_driver_copies_what_the_sizes_of_a_proof_say() {
    for sizes in [(2, 6, 8, 2), (1, 6, 24, 4)] {
        hold_links(CollectiveKind::Peer, |counters| counters.bytes_between_devices, sizes);
    }
}

#[test]
fn whatever_call_between_devices_is_refused_all_end_with_the_proof_or_a_name() {
    let (config, sample) = (PcsConfig::default(), Sample::wide(4, 6, 0));
    let expected = sample.proven(config);
    let attempt = |rule: Option<&str>| {
        let session = simulate("devices=2;peer=copies");
        let queues = queues(Choice::Sim, 2);
        let group = group(CollectiveKind::Peer, &queues);
        inject(&session, rule);
        calls_of(&session, || on_queues(&queues, group, |q, rank| sample.prove_sharded(q, rank, config)))
    };
    let (made, calls) = attempt(None);
    assert!(made.iter().all(|proof| *proof == expected));
    let mut failed = 0;
    for call in ["cuMemcpyPeerAsync", "cuStreamWaitEvent", "cuEventRecord"] {
        let count = calls[call];
        for (turn, code) in (1..=count).step_by(count.div_ceil(8) as usize).zip([1, 700].into_iter().cycle()) {
            let rule = format!("fail={code}@{call}:{turn}");
            let (made, _) = attempt(Some(&rule));
            let is_refused = |made: &Proven| match made {
                Err(error) => match device_error(error) {
                    Some(BackendError::Driver { call: named, .. }) => code == 1 && *named == call,
                    Some(BackendError::DeviceLost { .. }) => code == 700,
                    _ => false,
                },
                Ok(_) => false,
            };
            let Some(odd) = made.iter().position(is_refused) else {
                // Some refusals cost nothing but a wait.
                assert!(made.iter().all(|made| *made == expected), "{rule}: {made:?}");
                continue;
            };
            let other = &made[1 - odd];
            assert!(*other == expected || *other == Err(gave_up(odd)), "{rule}: {other:?}");
            failed += u32::from(other.is_err());
        }
    }
    assert!(failed > 10, "{failed}");
}
