//! A proof that several devices make together is that of one.
#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

use core::num::NonZeroUsize;
use std::{
    sync::{Barrier, OnceLock},
    thread,
    time::Duration,
};

use backend_api::{BackendError, Queue as _, Ranks as _};
use collective::{Local, Staged};
use cuda_sim::driver::{self, Rule, Simulation};
use runtime::{AnyQueue, Choice, Domain, Settings};
use stark::{
    CollectiveError, Columns, FriConfig, M31, PcsConfig, Protocol, ProveError, ProverError, Residency, Statement,
    StatementProof, StatementProver,
};
use stark_airs::{Circuit, Plonk, Poseidon2Chain, StateMachine, WideFibonacci};

fn open(choice: Choice, cuda_device: u32) -> AnyQueue {
    let settings = Settings { cuda_device, threads: NonZeroUsize::new(1), ..Settings::default() };
    runtime::open_with(&settings, Some(Domain::Stark), Some(choice)).unwrap().0
}

/// Eight devices, in place of what `runtime` installs the first time.
fn devices() -> Simulation {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    let first = driver::simulate("").unwrap();
    INSTALLED.get_or_init(|| drop(open(Choice::Sim, 0)));
    drop(first);
    driver::simulate("devices=8").unwrap()
}

fn configs() -> [PcsConfig; 2] {
    let config = PcsConfig::default();
    let fri_config = FriConfig { fold_step: 3, log_blowup_factor: 2, n_queries: 30, ..config.fri_config };
    [config, PcsConfig { fri_config, ..config }]
}

fn wide(log_rows: u32, columns: u32) -> (WideFibonacci, Vec<Columns>) {
    let air = WideFibonacci::new(log_rows, columns).unwrap();
    let seeds: Vec<_> = (0..1 << log_rows).map(|row| [row, 7 * row + 1].map(M31::from_u32)).collect();
    let trace = air.trace(&seeds).unwrap();
    (air, trace)
}

type Rank = Staged<Local>;

/// Runs each rank of a group on a thread with a device of its own, and returns what they returned.
fn on_ranks<V: Send>(group: Vec<Rank>, choice: Choice, run: impl Fn(&AnyQueue, Rank) -> V + Sync) -> Vec<V> {
    let run = &run;
    thread::scope(|scope| {
        let ranks: Vec<_> = group
            .into_iter()
            .map(|rank| {
                scope.spawn(move || {
                    let q = open(choice, if choice == Choice::Sim { rank.rank() as u32 } else { 0 });
                    let made = run(&q, rank);
                    assert_eq!(q.budget().live_bytes(), 0);
                    made
                })
            })
            .collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

/// The proof of one device, and that the ranks of each group make the same, twice.
fn hold<S: Statement + Sync>(choice: Choice, groups: &[usize], config: PcsConfig, statement: &S, trace: &[Columns]) {
    let q = runtime::cpu().unwrap();
    let expected = StatementProver::new(&q, Protocol::V2_3, config, statement).unwrap().prove(&q, trace).unwrap();
    for &ranks in groups {
        let proofs = on_ranks(Local::group(ranks), choice, |q, rank| {
            let mut prover = StatementProver::sharded(q, rank, Protocol::V2_3, config, statement).unwrap();
            assert_eq!(prover.residency() == Residency::Full, ranks == 1);
            [prover.prove(q, trace).unwrap(), prover.prove(q, trace).unwrap()]
        });
        assert!(proofs.iter().flatten().all(|proof| *proof == expected), "{ranks} ranks, {choice:?}, {config:?}");
    }
}

fn hold_all(choice: Choice, groups: &[usize]) {
    for config in configs() {
        for (log_rows, columns) in [(3, 3), (5, 40), (8, 7)] {
            let (air, trace) = wide(log_rows, columns);
            hold(choice, groups, config, &air, &trace);
        }
        for log_rows in [[3, 4], [4, 4], [7, 3]] {
            let machine = StateMachine::new(log_rows, [1, 2].map(M31::from_u32)).unwrap();
            hold(choice, groups, config, &machine, &machine.trace());
        }
        let plonk = Plonk::evaluate(Circuit::sample(60).unwrap(), [3, 9].map(M31::from_u32).to_vec()).unwrap();
        hold(choice, groups, config, &plonk, &plonk.trace());
        let (chain, trace) = Poseidon2Chain::run(4, [0; 16].map(M31::from_u32)).unwrap();
        hold(choice, groups, config, &chain, &trace);
    }
}

#[test]
fn ranks_on_the_processor_make_the_proof_of_one() {
    hold_all(Choice::Cpu, &[1, 2, 4, 8]);
}

#[test]
fn ranks_on_simulated_devices_make_the_proof_of_one() {
    let _devices = devices();
    let (air, trace) = wide(5, 12);
    let machine = StateMachine::new([6, 4], [1, 2].map(M31::from_u32)).unwrap();
    for config in configs() {
        hold(Choice::Sim, &[1, 2, 4, 8], config, &air, &trace);
        hold(Choice::Sim, &[2, 4], config, &machine, &machine.trace());
    }
}
