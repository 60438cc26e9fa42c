//! Memory, in a separate process: its queue has a limit.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};

use backend_api::Queue as _;
use common::{Choices, fibonacci, prove_rows};
use runtime::{Choice, Settings, open_with};
use stwo::{
    core::poly::circle::CanonicCoset,
    prover::{mempool::BaseColumnPool, poly::circle::PolyOps as _},
};
use stwo_vectors::{config::config, statement::Statement, witness::trace::rows};
use trefoil_stwo::{TrefoilBackend, install, open};

/// Bytes that the queue may take.
const LIMIT: u64 = 8 << 20;

/// Makes a proof, and returns the bytes that are left on the queue.
fn prove(statement: &Statement, choices: Choices<'_>) -> u64 {
    let (proof, _) = prove_rows(statement, config([1, 2, 0, 3, 2], None), &rows(statement, 1), choices);
    proof.unwrap();
    open().unwrap().budget().live_bytes()
}

#[test]
fn proofs_leave_nothing_behind_and_short_memory_is_named() {
    let settings = Settings { mem_limit_bytes: Some(LIMIT), ..Settings::default() };
    let (queue, _) = open_with(&settings, None, Some(Choice::Cpu)).unwrap();
    install(queue).unwrap();

    // Factors of transforms stay, for the largest domain.
    TrefoilBackend::precompute_twiddles(CanonicCoset::new(17).half_coset());
    let (statement, choices) = (Statement::Xor { log_rows: 8, bits: 3 }, Choices::default());
    let left = prove(&statement, choices);
    assert!((1 << 19..1 << 20).contains(&left), "{left} bytes");
    for _ in 0..3 {
        assert_eq!(prove(&statement, choices), left);
    }

    // A pool of the caller's has the values of one proof, however many were made.
    let pool = BaseColumnPool::new();
    let choices = Choices { pool: Some(&pool), ..choices };
    let with_pool = prove(&statement, choices);
    assert!(with_pool > left);
    for _ in 0..3 {
        assert_eq!(prove(&statement, choices), with_pool);
    }
    drop(pool);

    let too_large = fibonacci(&[14], &[60]);
    let refused = catch_unwind(AssertUnwindSafe(|| prove(&too_large, Choices::default()))).unwrap_err();
    let message = refused.downcast::<String>().unwrap();
    assert!(message.starts_with("trefoil: ") && message.contains("budget"), "{message}");
    assert_eq!(prove(&statement, Choices::default()), left);
}
