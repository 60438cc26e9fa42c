//! Interaction columns that the callers of all ranks make on the host.

use backend_api::{Queue as _, Ranks as _};
use collective::Local;
use runtime::{AnyQueue, Choice};
use stark::{
    CollectiveError, Component, Interaction, M31, PcsConfig, Proof, ProofGraphPair, Protocol, Prover, ProverError, QM31,
};

use crate::{
    common::{configs, processor},
    devices::devices,
    host_columns::{Scaled, Used, coordinates, paired, running_sum, scaled},
    queues::{StagedRank, on_ranks},
};

const USED: Used = Used { log_rows: 6 };
const SCALED: Scaled = Scaled { log_rows: 6, copies: 1 };

fn rows(seed: u32) -> Vec<M31> {
    (0..64).map(|row| M31::from_u32(row * row + seed)).collect()
}

fn interact(rows: &[M31], challenges: &[QM31]) -> Interaction {
    let (sum, used) = running_sum(rows, challenges[0]);
    let columns = [coordinates(&used), scaled(rows, challenges[0])].concat();
    Interaction { claimed_sums: vec![sum, QM31::ZERO], absorbed: vec![sum, challenges[0]], columns }
}

/// Proofs of several traces, one after the other; the caller does not make the columns of one of them.
fn prove(q: &AnyQueue, prover: &mut Prover<AnyQueue>, refused: Option<u32>) -> Result<Vec<Proof>, ProverError> {
    let mut pair = ProofGraphPair::new();
    let proofs = (0..3).map(|seed| {
        let rows = rows(seed);
        let proven = paired(q, prover, &mut pair, &[&rows, &rows, &rows], |challenges| match refused == Some(seed) {
            true => Err(ProverError::NotLoaded),
            false => Ok(interact(&rows, challenges)),
        });
        proven.map(|(proof, _)| proof)
    });
    proofs.collect()
}

fn components() -> Vec<Component> {
    vec![Component::new(&USED, &[]).unwrap(), Component::new(&SCALED, &[]).unwrap()]
}

fn sharded(q: &AnyQueue, rank: StagedRank, config: PcsConfig) -> Result<Prover<AnyQueue>, ProverError> {
    Prover::sharded(q, rank, Protocol::V2_3, config, &[], components())
}

#[test]
fn ranks_make_the_proof_of_one_device_with_interaction_columns_of_the_host() {
    let _devices = devices();
    for config in configs() {
        let q = processor();
        let mut alone = Prover::new(&q, Protocol::V2_3, config, &[], components()).unwrap();
        let expected = prove(&q, &mut alone, None).unwrap();
        for (ranks, choice) in [(2, Choice::Cpu), (4, Choice::Cpu), (2, Choice::Sim), (4, Choice::Sim)] {
            let proven =
                on_ranks(Local::group(ranks), choice, |q, rank| prove(q, &mut sharded(q, rank, config).unwrap(), None));
            assert_eq!(proven, vec![Ok(expected.clone()); ranks], "{ranks} ranks, {choice:?}");
        }
    }
}

#[test]
fn a_caller_that_makes_no_interaction_columns_ends_all_ranks() {
    let proven = on_ranks(Local::group(4), Choice::Cpu, |q, rank| {
        let refused = (rank.rank() == 2).then_some(1);
        let proven = prove(q, &mut sharded(q, rank, PcsConfig::default()).unwrap(), refused);
        q.finish().unwrap();
        proven
    });
    for (rank, proven) in proven.into_iter().enumerate() {
        let gave_up = ProverError::Collective(CollectiveError::GaveUp { rank: 2 });
        assert_eq!(proven, Err(if rank == 2 { ProverError::NotLoaded } else { gave_up }), "rank {rank}");
    }
}
