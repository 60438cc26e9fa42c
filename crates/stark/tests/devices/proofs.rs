//! Proofs over several ranks are identical to proofs of one.

use backend_api::{BackendError, Counted as _, Queue as _, Ranks as _};
use collective::Local;
use runtime::{Choice, Domain, Settings};
use stark::{
    M31, PcsConfig, ProofGraph, Protocol, ProveError, ProverError, Residency, Statement, StatementProver, TraceColumns,
    Witness, memory_plan, memory_plan_of_rank, memory_plan_on,
};
use stark_airs::{Blake2s, Circuit, Plonk, Poseidon2Chain, StateMachine, WideFibonacci};

use crate::{
    common::{configs, prove_replayed},
    devices::{bytes::config, devices, on_ranks, watched::Poisoned, wide},
};

/// The proof of one device, and that the ranks of each group make the same, twice.
fn hold<S: Statement + Sync>(
    choice: Choice,
    groups: &[usize],
    config: PcsConfig,
    statement: &S,
    trace: &[TraceColumns],
) {
    let q = runtime::cpu().unwrap();
    let expected = StatementProver::new(&q, Protocol::V2_3, config, statement).unwrap().prove(&q, trace).unwrap();
    for &ranks in groups {
        let proofs = on_ranks(Local::group(ranks), choice, |q, rank| {
            let mut prover = StatementProver::sharded(q, Poisoned(rank), Protocol::V2_3, config, statement).unwrap();
            let residency = prover.residency();
            assert_eq!(matches!(residency, Residency::Full | Residency::Truncated), ranks == 1);
            let planned = match ranks {
                1 => memory_plan(&config, statement, residency),
                _ => memory_plan_of_rank(&config, statement, ranks),
            };
            assert_eq!(q.budget().live_bytes(), planned.unwrap().bytes_on(q));
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
fn ranks_that_keep_the_root_of_their_part_of_a_tree_alone_make_the_proof_of_one() {
    for (log_rows, lifting, ranks) in [(1, 5, 2), (3, 7, 8), (5, 8, 4), (3, 7, 4), (4, 8, 8)] {
        let (air, trace) = wide(log_rows, 4);
        let config = PcsConfig { lifting_log_size: Some(lifting), ..PcsConfig::default() };
        hold(Choice::Cpu, &[ranks], config, &air, &trace);
    }
}

#[test]
fn as_many_ranks_as_copies_keep_the_coefficients_of_their_own_columns_alone() {
    // A rank's words of the coefficients of 37 columns, plus the eight of the composition polynomial.
    let words = |columns: u64| 4 * ((columns + 8) << 9);
    let (air, trace) = wide(9, 37);
    for (log_blowup, ranks, columns) in
        [(1, 2, 19), (1, 4, 10), (1, 8, 5), (2, 2, 37), (2, 4, 10), (2, 8, 5), (3, 4, 37), (3, 16, 3)]
    {
        let config = config(log_blowup);
        let plan = memory_plan_of_rank(&config, &air, ranks).unwrap();
        assert_eq!(plan.parts().coefficients, words(columns), "{ranks} ranks, 2^{log_blowup} copies");
        hold(Choice::Cpu, &[ranks], config, &air, &trace);
    }
    // Of rows as few as these, not every rank can have a block in each copy.
    let (air, _) = wide(2, 37);
    let plan = memory_plan_of_rank(&config(1), &air, 4).unwrap();
    assert_eq!(plan.parts().coefficients, 4 * ((37 + 8) << 2));
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

/// Whether ranks make the proof of one from what makes the trace.
fn hold_from<S: Statement + Sync, W: Witness + Sync>(statement: &S, trace: &[TraceColumns], witness: &W) {
    let [config, other] = configs();
    hold_from_in(&[(config, 2), (config, 8), (other, 2), (other, 4)], statement, trace, witness);
}

fn hold_from_in<S: Statement + Sync, W: Witness + Sync>(
    groups: &[(PcsConfig, usize)],
    statement: &S,
    trace: &[TraceColumns],
    witness: &W,
) {
    let q = runtime::cpu().unwrap();
    for &(config, ranks) in groups {
        let expected = StatementProver::new(&q, Protocol::V2_3, config, statement).unwrap().prove(&q, trace).unwrap();
        let proofs = on_ranks(Local::group(ranks), Choice::Cpu, |q, rank| {
            let mut prover = StatementProver::sharded(q, Poisoned(rank), Protocol::V2_3, config, statement).unwrap();
            [prover.prove_from(q, witness), prover.prove(q, trace), prover.prove_from(q, witness)]
        });
        assert!(proofs.iter().flatten().all(|proof| proof.as_ref() == Ok(&expected)), "{ranks} ranks");
    }
}

#[test]
fn what_generators_make_on_every_rank_is_proven_too() {
    let machine = StateMachine::new([6, 5], [3, 4].map(M31::from_u32)).unwrap();
    hold_from(&machine, &machine.trace(), &machine);
    let plonk = Plonk::evaluate(Circuit::sample(60).unwrap(), [3, 9].map(M31::from_u32).to_vec()).unwrap();
    hold_from(&plonk, &plonk.trace(), &plonk.wires());
    let (chain, trace) = Poseidon2Chain::run(4, [0; 16].map(M31::from_u32)).unwrap();
    hold_from(&chain, &trace, &Poseidon2Chain::states(4, [0; 16].map(M31::from_u32)).unwrap().1);
    for (log_rows, columns) in [(5, 13), (7, 3)] {
        let air = WideFibonacci::new(log_rows, columns).unwrap();
        let seeds: Vec<_> = (0..1 << log_rows).map(|row| [row, 5 * row + 2].map(M31::from_u32)).collect();
        hold_from(&air, &air.trace(&seeds).unwrap(), &air.seeds(&seeds).unwrap());
    }
}

#[test]
fn ranks_prove_look_ups_in_tables_whose_uses_are_counted() {
    let blocks: Vec<[u32; 16]> = (0..16).map(|block| [block; 16]).collect();
    let (blake2s, trace) = Blake2s::run(&blocks).unwrap();
    let (_, states) = Blake2s::states(&blocks).unwrap();
    let [config, other] = configs();
    hold_from_in(&[(config, 2), (config, 4), (other, 2)], &blake2s, &trace, &states);
}

#[test]
fn ranks_without_room_for_the_making_of_a_trace_gather_coefficients() {
    let air = WideFibonacci::new(10, 200).unwrap();
    let seeds: Vec<_> = (0..1 << 10).map(|row| [row, row + 3].map(M31::from_u32)).collect();
    let (trace, witness, config) = (air.trace(&seeds).unwrap(), air.seeds(&seeds).unwrap(), PcsConfig::default());
    let q = runtime::cpu().unwrap();
    let expected = StatementProver::new(&q, Protocol::V2_3, config, &air).unwrap().prove(&q, &trace).unwrap();
    let plan = memory_plan_of_rank(&config, &air, 2).unwrap();
    assert_eq!(plan.making_bytes(), 4 * (200 << 10));
    // Seeds and what single ops need take some more.
    let enough = plan.bytes_on(&q) + plan.making_bytes() + (64 << 10);
    for (limit, blocks) in [(enough, 4), (enough - plan.making_bytes(), 8)] {
        let made = on_ranks(Local::group(2), Choice::Cpu, |_, rank| {
            let settings = Settings { mem_limit_bytes: Some(limit), ..Settings::default() };
            let q = runtime::open_with(&settings, Some(Domain::Stark), Some(Choice::Cpu)).unwrap().0;
            let mut prover = StatementProver::sharded(&q, rank, Protocol::V2_3, config, &air).unwrap();
            (prover.residency(), prover.prove_from(&q, &witness))
        });
        for (residency, proof) in made {
            assert_eq!((residency, proof), (Residency::Blocks(blocks), Ok(expected.clone())));
        }
    }
}

#[test]
fn ranks_take_at_most_two_percent_more_than_was_planned() {
    let (air, trace) = wide(16, 8);
    for (log_blowup, ranks) in [(2, 2), (1, 4)] {
        let config = config(log_blowup);
        let plan = memory_plan_of_rank(&config, &air, ranks).unwrap();
        on_ranks(Local::group(ranks), Choice::Cpu, |q, rank| {
            let mut prover = StatementProver::sharded(q, rank, Protocol::V2_3, config, &air).unwrap();
            prover.prove(q, &trace).unwrap();
            let (planned, peak) = (plan.bytes_on(q), q.budget().peak_bytes());
            assert!(planned <= peak && peak - planned <= planned / 50, "{ranks} ranks: {peak} instead of {planned}");
        });
    }
}

#[test]
fn ranks_on_simulated_devices_are_refused_before_any_work_with_a_byte_less_than_the_least() {
    let (_devices, config) = (devices(), config(1));
    // Its preprocessed columns are committed to when the prover is made.
    let plonk = Plonk::evaluate(Circuit::sample(60).unwrap(), [3, 9].map(M31::from_u32).to_vec()).unwrap();
    let made = |limit: u64| {
        on_ranks(Local::group(4), Choice::Sim, |_, rank| {
            let cuda_device = rank.rank() as u32;
            let settings = Settings { cuda_device, mem_limit_bytes: Some(limit), ..Settings::default() };
            let q = runtime::open_with(&settings, Some(Domain::Stark), Some(Choice::Sim)).unwrap().0;
            let before = q.submissions();
            let planned = memory_plan_on(&q, &config, &plonk, 4).unwrap().bytes_on(&q);
            let made = StatementProver::sharded(&q, rank, Protocol::V2_3, config, &plonk);
            let submitted = q.submissions() - before;
            // Ranks copy what they were made for, to agree.
            let work = [submitted.launches, submitted.allocations];
            (planned, work, made.map(|prover| (prover.residency(), q.budget().live_bytes())))
        })
    };
    let all =
        on_ranks(Local::group(4), Choice::Sim, |q, _| memory_plan_of_rank(&config, &plonk, 4).unwrap().bytes_on(q));
    // The least memory that a budget can have does not hold it.
    let least = made(1 << 16)[0].0;
    assert!(least <= all[0] && least > 1 << 16, "{least} of {}", all[0]);
    for (planned, work, made) in made(least - 1) {
        let refused = ProveError::Prover(ProverError::Backend(BackendError::BudgetExceeded {
            need_bytes: least,
            free_bytes: least - 1,
            limit_bytes: least - 1,
        }));
        assert_eq!((planned, work, made), (least, [0, 0], Err(refused)));
    }
    // Single ops need some more.
    for (planned, work, made) in made(least + 4096) {
        assert_eq!((planned, made.map(|(_, live)| live)), (least, Ok(least)));
        assert!(work[0] > 0, "{work:?}");
    }
}

#[test]
fn columns_that_are_exchanged_in_several_rounds_arrive_in_their_places() {
    // A rank sends 64 columns of 2^14 rows at once, in the last round fewer or none.
    let (air, trace) = wide(14, 4 * 64 + 3);
    hold(Choice::Cpu, &[4], PcsConfig::default(), &air, &trace);
    let (chain, trace) = Poseidon2Chain::run(14, [0; 16].map(M31::from_u32)).unwrap();
    hold(Choice::Cpu, &[4], PcsConfig::default(), &chain, &trace);
}

#[test]
fn proofs_with_a_graph_are_made_op_by_op() {
    let _devices = devices();
    let (air, trace) = wide(5, 12);
    let (q, config) = (runtime::cpu().unwrap(), PcsConfig::default());
    let expected = StatementProver::new(&q, Protocol::V2_3, config, &air).unwrap().prove(&q, &trace).unwrap();
    on_ranks(Local::group(2), Choice::Sim, |q, rank| {
        let mut prover = StatementProver::sharded(q, rank, Protocol::V2_3, config, &air).unwrap();
        let mut graph = ProofGraph::new();
        for _ in 0..3 {
            assert!(prove_replayed(&mut prover, q, &mut graph, &trace).unwrap() == expected);
        }
        assert!(!graph.is_recorded());
    });
}

#[test]
fn all_ranks_take_as_many_blocks_as_the_one_with_the_least_memory() {
    let (air, trace) = wide(10, 200);
    let (q, config) = (runtime::cpu().unwrap(), PcsConfig::default());
    let expected = StatementProver::new(&q, Protocol::V2_3, config, &air).unwrap().prove(&q, &trace).unwrap();
    let few = memory_plan_of_rank(&config, &air, 2).unwrap();
    let made = on_ranks(Local::group(2), Choice::Cpu, |_, rank| {
        let limit = few.bytes_on(&runtime::cpu().unwrap()) - 1;
        let settings = Settings { mem_limit_bytes: (rank.rank() == 1).then_some(limit), ..Settings::default() };
        let q = runtime::open_with(&settings, Some(Domain::Stark), Some(Choice::Cpu)).unwrap().0;
        let mut prover = StatementProver::sharded(&q, rank, Protocol::V2_3, config, &air).unwrap();
        (prover.residency(), prover.prove(&q, &trace).unwrap())
    });
    for (residency, proof) in made {
        assert_eq!(residency, Residency::Blocks(8));
        assert!(proof == expected);
    }
}
