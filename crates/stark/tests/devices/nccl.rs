//! Proofs of devices that reach each other by NCCL, the simulated one.

use std::collections::BTreeMap;

use backend_api::{Collective as _, Ranks as _};
use cuda_sim::driver::Report;
use runtime::{Choice, CollectiveKind};
use stark::{CollectiveError, PcsConfig, ProveError, ProverError};

use crate::{
    common::{Proven, inject, is_loss, on_queues, simulate},
    devices::{
        bytes::{config, hold_links},
        gave_up, group, hold_machines,
    },
    queues::queues,
    samples::Sample,
};

#[test]
fn devices_that_use_nccl_make_the_proof_of_one() {
    let machines = [
        (2, "devices=4;schedule=lazy;checks=sanitize", false),
        (4, "devices=4;schedule=random;seed=4", false),
        (2, "devices=4;links=0-1:none", true),
    ];
    hold_machines(CollectiveKind::Nccl, 12, &machines);
}

/// The bytes that NCCL moves over each link match the sizes of a proof.
#[test]
fn nccl_moves_what_the_sizes_of_a_proof_say() {
    hold_links(CollectiveKind::Nccl, |counters| counters.nccl_bytes, (1, 6, 24, 4));
}

#[test]
fn whatever_call_of_nccl_is_refused_all_end_with_a_name_and_leave_nothing() {
    // Gathered coefficients take NCCL's all-gathers, partitioned columns its pairs of sends and receives.
    let pairs = ["ncclGroupStart", "ncclSend", "ncclRecv", "ncclGroupEnd"];
    for (log_blowup, calls) in [(2, &["ncclGroupStart", "ncclGroupEnd", "ncclAllGather"][..]), (1, &pairs)] {
        refuse_calls_of_nccl(config(log_blowup), calls);
    }
}

fn refuse_calls_of_nccl(config: PcsConfig, refused: &[&'static str]) {
    let sample = Sample::wide(4, 6, 0);
    let expected = sample.proven(config);
    let attempt = |rule: Option<&str>| -> (Vec<Proven>, BTreeMap<&'static str, u64>) {
        let session = simulate("devices=2");
        let queues = queues(Choice::Sim, 2);
        let made = on_queues(&queues, group(CollectiveKind::Nccl, &queues), |q, rank| {
            // The group is complete, so the refusals happen during the proof.
            rank.barrier(q).unwrap();
            if rank.rank() == 0 {
                inject(&session, rule);
            }
            rank.barrier(q).unwrap();
            sample.prove_sharded(q, rank, config)
        });
        drop(queues);
        let leaks = session.reports().into_iter().filter(|report| matches!(report, Report::Leak(_)));
        assert_eq!(leaks.collect::<Vec<_>>(), [], "{rule:?}");
        (made, session.counters().calls)
    };
    let (made, calls) = attempt(None);
    assert!(made.iter().all(|proof| *proof == expected));
    // Not the calls that make a group, ask how it is, or end it.
    let is_of_proof = |call: &str| {
        call.starts_with("nccl") && !["ncclComm", "ncclGet"].iter().any(|outside| call.starts_with(*outside))
    };
    let of_proofs: Vec<_> = calls.into_iter().filter(|(call, _)| is_of_proof(call)).collect();
    for call in refused {
        assert!(of_proofs.iter().any(|(made, count)| made == call && *count > 2), "{call}: {of_proofs:?}");
    }
    for (call, count) in of_proofs {
        for turn in 1..=count {
            let (made, _) = attempt(Some(&format!("fail=1@{call}:{turn}")));
            let refused = |made: &Proven| match made {
                Err(ProveError::Prover(ProverError::Collective(CollectiveError::Library {
                    call: named,
                    code: 1,
                    ..
                }))) => *named == call || *named == "ncclGroupEnd",
                _ => false,
            };
            let Some(odd) = made.iter().position(refused) else { panic!("{call} {turn}: {made:?}") };
            assert_eq!(made[1 - odd], Err(gave_up(odd)), "{call} {turn}");
        }
    }
}

/// A device that is lost during a proof ends the other, which may be waiting for data that NCCL never delivers.
#[test]
fn a_device_that_is_lost_ends_all() {
    let sample = Sample::wide(4, 6, 0);
    for turn in [20, 60] {
        let session = simulate("devices=2;schedule=lazy");
        let queues = queues(Choice::Sim, 2);
        let ranks = group(CollectiveKind::Nccl, &queues);
        inject(&session, [&*format!("late=719@cuLaunchKernel:{turn}")]);
        let made = on_queues(&queues, ranks, |q, rank| sample.prove_sharded(q, rank, PcsConfig::default()));
        for made in made {
            let Err(error) = made else { panic!("{turn}: {made:?}") };
            let is_named = match &error {
                ProveError::Prover(ProverError::Collective(CollectiveError::Library { code, .. })) => *code == 1,
                ProveError::Prover(ProverError::Collective(CollectiveError::GaveUp { .. })) => true,
                error => is_loss(error),
            };
            assert!(is_named, "{turn}: {error:?}");
        }
    }
}
