//! The memory of a prover is what was planned.
#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

use core::num::NonZeroUsize;

use backend_api::{BackendError, Counted as _, Queue as _};
use runtime::{AnyQueue, Choice, Domain, Settings};
use stark::{
    Columns, FriConfig, M31, PcsConfig, Protocol, ProveError, ProverError, Statement, StatementProver, memory_plan,
};
use stark_airs::{Circuit, Plonk, Poseidon2Chain, StateMachine, WideFibonacci};

const LIMIT: u64 = 1 << 30;

fn open(choice: Choice) -> AnyQueue {
    let settings = Settings { mem_limit_bytes: Some(LIMIT), threads: NonZeroUsize::new(2), ..Settings::default() };
    runtime::open_with(&settings, Some(Domain::Stark), Some(choice)).unwrap().0
}

fn configs() -> [PcsConfig; 2] {
    let config = PcsConfig::default();
    let fri_config = FriConfig { fold_step: 3, log_blowup_factor: 2, n_queries: 30, ..config.fri_config };
    [config, PcsConfig { fri_config, ..config }]
}

/// Provers hold what was planned, and none is made where a byte less is free.
fn hold<S: Statement>(statement: &S) {
    for (config, choice) in configs().into_iter().flat_map(|config| [(config, Choice::Cpu), (config, Choice::Sim)]) {
        let plan = memory_plan(&config, statement).unwrap();
        let q = open(choice);
        let planned = plan.bytes_on(&q);
        let made = StatementProver::new(&q, Protocol::V2_3, config, statement).unwrap();
        assert_eq!(q.budget().live_bytes(), planned, "{choice:?}, {config:?}");
        drop(made);
        let parts = plan.parts();
        let all = parts.bytes();
        assert!(
            all <= planned && parts.rest < all && parts.trees > 0 && parts.values > parts.coefficients,
            "{parts:?}"
        );

        let free_bytes = planned - 1;
        let _held = q.budget().reserve(LIMIT - free_bytes).unwrap();
        let before = q.submissions();
        let refused = BackendError::BudgetExceeded { need_bytes: planned, free_bytes, limit_bytes: LIMIT };
        let prover = StatementProver::new(&q, Protocol::V2_3, config, statement);
        assert_eq!(prover.err(), Some(ProveError::Prover(ProverError::Backend(refused))));
        assert_eq!((q.submissions() - before).calls, 0, "{choice:?}, {config:?}");
        assert_eq!(q.budget().live_bytes(), LIMIT - free_bytes);
    }
}

#[test]
fn provers_take_what_was_planned_and_are_refused_before_any_work_with_a_byte_less() {
    for (log_rows, columns) in [(3, 3), (5, 40), (8, 7)] {
        hold(&WideFibonacci::new(log_rows, columns).unwrap());
    }
    for log_rows in [[3, 4], [4, 4], [7, 3]] {
        hold(&StateMachine::new(log_rows, [1, 2].map(M31::from_u32)).unwrap());
    }
    hold(&Plonk::evaluate(Circuit::sample(60).unwrap(), [3, 9].map(M31::from_u32).to_vec()).unwrap());
    hold(&Poseidon2Chain::run(4, [0; 16].map(M31::from_u32)).unwrap().0);
}

/// The most that proofs take is at most 2 % above what was planned.
fn hold_peak<S: Statement>(choice: Choice, statement: &S, trace: &[Columns]) {
    let config = PcsConfig::default();
    let q = open(choice);
    let planned = memory_plan(&config, statement).unwrap().bytes_on(&q);
    let mut prover = StatementProver::new(&q, Protocol::V2_3, config, statement).unwrap();
    for _ in 0..2 {
        prover.prove(&q, trace).unwrap();
    }
    let peak = q.budget().peak_bytes();
    assert!(planned <= peak && peak - planned <= planned / 50, "{choice:?}: {peak} instead of {planned}");
}

#[test]
fn proofs_take_at_most_two_percent_more_than_was_planned() {
    for (choice, log_rows) in [(Choice::Sim, 10), (Choice::Cpu, 16)] {
        let air = WideFibonacci::new(log_rows, 8).unwrap();
        let seeds: Vec<_> = (0..1 << log_rows).map(|row| [row, 7 * row + 1].map(M31::from_u32)).collect();
        hold_peak(choice, &air, &air.trace(&seeds).unwrap());
        let machine = StateMachine::new([log_rows, log_rows - 2], [1, 2].map(M31::from_u32)).unwrap();
        hold_peak(choice, &machine, &machine.trace());
    }
}
