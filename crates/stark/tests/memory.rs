//! The memory of a prover is what was planned.

use core::num::NonZeroUsize;

use backend_api::{BackendError, Counted as _, Queue as _};
use runtime::{AnyQueue, Choice, Domain, Settings};
use stark::{
    M31, PcsConfig, Protocol, ProveError, ProverError, Residency, Statement, StatementProver, TraceColumns, Witness,
    memory_plan, verify,
};
use stark_airs::{Blake2s, Circuit, Plonk, Poseidon2Chain, StateMachine, WideFibonacci};

use crate::common::{configs, simulate};

const LIMIT: u64 = 1 << 30;

fn open(choice: Choice) -> AnyQueue {
    let settings = Settings { mem_limit_bytes: Some(LIMIT), threads: NonZeroUsize::new(2), ..Settings::default() };
    runtime::open_with(&settings, Some(Domain::Stark), Some(choice)).unwrap().0
}

/// Provers hold what was planned, and none is made where a byte less is free.
fn hold<S: Statement>(statement: &S, residency: Residency) {
    for (config, choice) in configs().into_iter().flat_map(|config| [(config, Choice::Cpu), (config, Choice::Sim)]) {
        let plan = memory_plan(&config, statement, residency).unwrap();
        let q = open(choice);
        let planned = plan.bytes_on(&q);
        let made = StatementProver::with_residency(&q, Protocol::V2_3, config, statement, residency).unwrap();
        assert_eq!(q.budget().live_bytes(), planned, "{choice:?}, {config:?}");
        drop(made);
        let parts = plan.parts();
        let all = parts.bytes();
        assert!(all <= planned && parts.rest < all && parts.trees > 0 && parts.values > 0, "{parts:?}");

        let free_bytes = planned - 1;
        let _held = q.budget().reserve(LIMIT - free_bytes).unwrap();
        let before = q.submissions();
        let refused = BackendError::BudgetExceeded { need_bytes: planned, free_bytes, limit_bytes: LIMIT };
        let prover = StatementProver::with_residency(&q, Protocol::V2_3, config, statement, residency);
        assert_eq!(prover.err(), Some(ProveError::Prover(ProverError::Backend(refused))));
        assert_eq!((q.submissions() - before).calls, 0, "{choice:?}, {config:?}");
        assert_eq!(q.budget().live_bytes(), LIMIT - free_bytes);
    }
}

#[test]
fn provers_take_what_was_planned_and_are_refused_before_any_work_with_a_byte_less() {
    let _machine = simulate("");
    let residencies =
        [Residency::Full, Residency::Truncated, Residency::Blocks(4), Residency::Blocks(8), Residency::Host(4)];
    for residency in residencies {
        for (log_rows, columns) in [(3, 3), (5, 40), (8, 7)] {
            hold(&WideFibonacci::new(log_rows, columns).unwrap(), residency);
        }
        for log_rows in [[3, 4], [4, 4], [7, 3]] {
            hold(&StateMachine::new(log_rows, [1, 2].map(M31::from_u32)).unwrap(), residency);
        }
        hold(&Plonk::evaluate(Circuit::sample(60).unwrap(), [3, 9].map(M31::from_u32).to_vec()).unwrap(), residency);
        hold(&Poseidon2Chain::run(4, [0; 16].map(M31::from_u32)).unwrap().0, residency);
    }
}

/// The peak of proofs is at most 2 % above the plan plus the workspace of trace generation.
fn hold_peak<S: Statement, W: Witness>(
    choice: Choice,
    residency: Residency,
    statement: &S,
    trace: &[TraceColumns],
    witness: &W,
) {
    let config = PcsConfig::default();
    let q = open(choice);
    let plan = memory_plan(&config, statement, residency).unwrap();
    let planned = plan.bytes_on(&q);
    let mut prover = StatementProver::with_residency(&q, Protocol::V2_3, config, statement, residency).unwrap();
    for _ in 0..2 {
        prover.prove(&q, trace).unwrap();
    }
    let peak = q.budget().peak_bytes();
    assert!(
        planned <= peak && peak - planned <= planned / 50,
        "{choice:?}, {residency:?}: {peak} instead of {planned}"
    );
    // The source data of the trace belongs to the caller, and is at most the size of the trace.
    let inputs: u64 = trace.iter().flatten().map(|column| 4 * column.len() as u64).sum();
    prover.prove_from(&q, witness).unwrap();
    let (peak, most) = (q.budget().peak_bytes(), planned + planned / 50 + plan.making_bytes() + inputs);
    assert!(peak <= most, "{choice:?}, {residency:?}: {peak} instead of {most}");
}

#[test]
fn proofs_take_at_most_two_percent_more_than_was_planned() {
    let _machine = simulate("");
    let residencies = [Residency::Full, Residency::Truncated, Residency::Blocks(8), Residency::Host(8)];
    let runs = [(Choice::Sim, 10), (Choice::Cpu, 16)];
    for ((choice, log_rows), residency) in
        runs.into_iter().flat_map(|run| residencies.map(|residency| (run, residency)))
    {
        let air = WideFibonacci::new(log_rows, 8).unwrap();
        let seeds: Vec<_> = (0..1 << log_rows).map(|row| [row, 7 * row + 1].map(M31::from_u32)).collect();
        hold_peak(choice, residency, &air, &air.trace(&seeds).unwrap(), &air.seeds(&seeds).unwrap());
        let machine = StateMachine::new([log_rows, log_rows - 2], [1, 2].map(M31::from_u32)).unwrap();
        hold_peak(choice, residency, &machine, &machine.trace(), &machine);
    }
    for residency in residencies {
        let plonk = Plonk::evaluate(Circuit::sample(1 << 16).unwrap(), [3, 9].map(M31::from_u32).to_vec()).unwrap();
        hold_peak(Choice::Cpu, residency, &plonk, &plonk.trace(), &plonk.wires());
        let first = [5; 16].map(M31::from_u32);
        let ((chain, trace), (_, states)) =
            (Poseidon2Chain::run(14, first).unwrap(), Poseidon2Chain::states(14, first).unwrap());
        hold_peak(Choice::Cpu, residency, &chain, &trace, &states);
        let blocks: Vec<[u32; 16]> = (0..1 << 11).map(|block| [block; 16]).collect();
        let ((blake2s, trace), (_, states)) = (Blake2s::run(&blocks).unwrap(), Blake2s::states(&blocks).unwrap());
        hold_peak(Choice::Cpu, residency, &blake2s, &trace, &states);
    }
}

#[test]
fn a_budget_without_room_for_all_values_gets_as_few_blocks_as_fit() {
    const LOG_ROWS: u32 = 14;
    let config = PcsConfig::default();
    let air = WideFibonacci::new(LOG_ROWS, 40).unwrap();
    let seeds: Vec<_> = (0..1 << LOG_ROWS).map(|row| [row, 3 * row + 1].map(M31::from_u32)).collect();
    let trace = air.trace(&seeds).unwrap();
    let proof = |free_bytes: u64| {
        let q = open(Choice::Cpu);
        let _held = q.budget().reserve(LIMIT - free_bytes).unwrap();
        let mut prover = StatementProver::new(&q, Protocol::V2_3, config, &air)?;
        Ok::<_, ProveError>((prover.residency(), prover.prove(&q, &trace)?))
    };
    let (residency, expected) = proof(LIMIT).unwrap();
    assert_eq!(residency, Residency::Truncated);
    let needs = |residency| memory_plan(&config, &air, residency).unwrap().bytes_on(&open(Choice::Cpu));
    let residencies = [Residency::Truncated, Residency::Blocks(2), Residency::Blocks(4)];
    for pair in residencies.windows(2) {
        let (residency, proof) = proof(needs(pair[0]) - 1).unwrap();
        assert_eq!(residency, pair[1]);
        assert!(proof == expected, "{residency:?}");
    }
    // With very many blocks, the openings of all blocks take more than is gained.
    let least = (1..=LOG_ROWS).map(|log_blocks| needs(Residency::Blocks(1 << log_blocks))).min().unwrap();
    let refused = BackendError::BudgetExceeded { need_bytes: least, free_bytes: least - 1, limit_bytes: LIMIT };
    assert_eq!(proof(least - 1).err().unwrap(), ProveError::Prover(ProverError::Backend(refused)));
    for got in [0, 1, 3, 2 << LOG_ROWS, u32::MAX] {
        let refused = ProverError::Blocks { least: 2, most: 1 << LOG_ROWS, got };
        let plan = memory_plan(&config, &air, Residency::Blocks(got));
        assert_eq!(plan.unwrap_err(), ProveError::Prover(refused));
    }
}

/// The coefficients on the host are exactly the ones missing on the device, and the proof is the same, also
/// from the witness.
fn hold_on_host<S: Statement, W: Witness>(choice: Choice, statement: &S, trace: &[TraceColumns], witness: &W) {
    let (q, config) = (open(choice), PcsConfig::default());
    let with = |residency| StatementProver::with_residency(&q, Protocol::V2_3, config, statement, residency).unwrap();
    let expected = with(Residency::Blocks(4)).prove(&q, trace).unwrap();
    let mut prover = with(Residency::Host(4));
    for _ in 0..2 {
        assert!(prover.prove(&q, trace).unwrap() == expected, "{choice:?}");
        assert!(prover.prove_from(&q, witness).unwrap() == expected, "{choice:?}");
    }
    let plan = |residency| memory_plan(&config, statement, residency).unwrap();
    let [blocks, host] = [Residency::Blocks(4), Residency::Host(4)].map(plan);
    assert_eq!(blocks.host_bytes(), 0);
    // The composition polynomial has eight columns of the greatest height.
    let rows = trace.iter().map(|columns| columns[0].len() as u64).max().unwrap();
    assert_eq!(host.host_bytes(), blocks.parts().coefficients - 32 * rows);
    assert_eq!(host.parts().values, blocks.parts().values);
}

#[test]
fn coefficients_on_the_host_make_the_same_proofs() {
    let _machine = simulate("");
    for choice in [Choice::Cpu, Choice::Sim] {
        let air = WideFibonacci::new(5, 9).unwrap();
        let seeds: Vec<_> = (0..32).map(|row| [row, 3 * row + 1].map(M31::from_u32)).collect();
        hold_on_host(choice, &air, &air.trace(&seeds).unwrap(), &air.seeds(&seeds).unwrap());
        let machine = StateMachine::new([5, 3], [1, 2].map(M31::from_u32)).unwrap();
        hold_on_host(choice, &machine, &machine.trace(), &machine);
        let plonk = Plonk::evaluate(Circuit::sample(60).unwrap(), [3, 9].map(M31::from_u32).to_vec()).unwrap();
        hold_on_host(choice, &plonk, &plonk.trace(), &plonk.wires());
    }
}

#[test]
fn a_device_without_room_for_coefficients_leaves_them_on_the_host() {
    let _machine = simulate("");
    let config = PcsConfig::default();
    let air = WideFibonacci::new(8, 200).unwrap();
    let seeds: Vec<_> = (0..256).map(|row| [row, 3 * row + 1].map(M31::from_u32)).collect();
    let trace = air.trace(&seeds).unwrap();
    let q = open(Choice::Sim);
    let needs = |residency| memory_plan(&config, &air, residency).unwrap().bytes_on(&q);
    let all = (1..=8).map(|log_blocks| 1 << log_blocks);
    let in_blocks = all.clone().map(|blocks| needs(Residency::Blocks(blocks))).min().unwrap();
    let fits = |blocks: &u32| needs(Residency::Host(*blocks)) < in_blocks;
    let expected = all.clone().find(fits).unwrap();
    let made = |free_bytes: u64| {
        let _held = q.budget().reserve(LIMIT - free_bytes).unwrap();
        StatementProver::new(&q, Protocol::V2_3, config, &air)
    };
    assert!(matches!(made(in_blocks).unwrap().residency(), Residency::Blocks(_)));
    let mut prover = made(in_blocks - 1).unwrap();
    assert_eq!(prover.residency(), Residency::Host(expected));
    let proof = prover.prove(&q, &trace).unwrap();
    drop(prover);
    let in_memory = made(LIMIT).unwrap().prove(&q, &trace).unwrap();
    assert!(proof == in_memory);
    let least = all.map(|blocks| needs(Residency::Host(blocks))).min().unwrap();
    let refused = BackendError::BudgetExceeded { need_bytes: least, free_bytes: least - 1, limit_bytes: LIMIT };
    assert_eq!(made(least - 1).err(), Some(ProveError::Prover(ProverError::Backend(refused))));
}

#[test]
fn blocks_of_several_parts_and_columns_in_several_pieces_are_proven() {
    // Blocks of 2^21 leaves are hashed in parts of 2^20; columns come to the device one by one.
    let (air, config) = (WideFibonacci::new(21, 3).unwrap(), PcsConfig::default());
    let seeds: Vec<_> = (0..1 << 21).map(|row| [row, 5 * row % 1000].map(M31::from_u32)).collect();
    let trace = air.trace(&seeds).unwrap();
    let q = runtime::cpu().unwrap();
    let proofs = [Residency::Blocks(2), Residency::Host(2)].map(|residency| {
        let mut prover = StatementProver::with_residency(&q, Protocol::V2_3, config, &air, residency).unwrap();
        let proof = prover.prove(&q, &trace).unwrap();
        verify(Protocol::V2_3, config, &air, prover.preprocessed_root(&q).unwrap(), &proof).unwrap();
        proof
    });
    assert!(proofs[0] == proofs[1]);
}
