//! A proof made by several devices together is identical to the proof of one.

mod bytes;
mod faults;
mod interaction;
mod nccl;
mod peers;
mod proofs;
mod watched;

use std::collections::BTreeMap;

use cuda_sim::driver::Simulation;
use runtime::{AnyQueue, AnyRank, Choice, CollectiveKind, Route, Settings, ranks_with};
use stark::{CollectiveError, ProveError, ProverError};

use crate::{
    common::{configs, on_queues, simulate},
    devices::watched::Watched,
    queues::queues,
    samples::Sample,
};

/// Eight devices.
fn devices() -> Simulation {
    simulate("devices=8")
}

/// The ranks of devices that reach each other in this way.
fn group(kind: CollectiveKind, queues: &[AnyQueue]) -> Vec<AnyRank> {
    let group = ranks_with(&Settings { collective: Some(kind), ..Settings::default() }, queues).unwrap();
    assert!(group.iter().all(|rank| rank.kind() == kind));
    group
}

/// The error of a rank that others gave up.
fn gave_up(rank: usize) -> ProveError {
    ProveError::Prover(ProverError::Collective(CollectiveError::GaveUp { rank }))
}

/// Compares proofs by the devices of each machine with the processor's, some with look-ups as well.
fn hold_machines(kind: CollectiveKind, columns: u32, machines: &[(usize, &str, bool)]) {
    let [config, other] = configs();
    let (wide, steps) = (Sample::wide(5, columns, 0), Sample::steps([4, 4], [1, 2]));
    let (expected, look_ups) = (wide.proven(config), steps.proven(other));
    for &(devices, machine, has_look_ups) in machines {
        // A kernel that touches memory of another device loses its own.
        let session = simulate(&format!("peer=copies;{machine}"));
        let queues = queues(Choice::Sim, devices);
        let ranks = group(kind, &queues);
        assert!(ranks.iter().all(|rank| rank.links().iter().all(|link| link.route == Route::Peer)));
        let made = on_queues(&queues, ranks, |q, rank| wide.prove_sharded(q, Watched::new(rank), config));
        assert!(made.iter().all(|proof| *proof == expected), "{machine}");
        if has_look_ups {
            let ranks = group(kind, &queues);
            let made = on_queues(&queues, ranks, |q, rank| steps.prove_sharded(q, Watched::new(rank), other));
            assert!(made.iter().all(|proof| *proof == look_ups), "{machine}");
        }
        if kind == CollectiveKind::Nccl {
            assert_eq!(session.counters().bytes_between_devices, BTreeMap::new(), "all went by NCCL");
        }
        drop(queues);
        assert_eq!(session.reports(), [], "{machine}");
    }
}
