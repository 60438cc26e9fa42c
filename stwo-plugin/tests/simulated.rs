//! Proofs on the simulated device, in a separate process: a process has one queue.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use std::sync::{Mutex, MutexGuard, PoisonError};

use backend_api::{BackendKind, Counted as _, Queue as _, Submissions};
use common::{Choices, check, check_with, fibonacci, trace_tree};
use runtime::{AnyQueue, Choice, Settings, open_with};
use stwo_vectors::{config::config, statement::Statement, witness::trace::rows};
use trefoil_stwo::{ReadCounts, install, open};

/// Held by the test that uses the device, which counts for all.
static DEVICE: Mutex<()> = Mutex::new(());

/// The simulated device, while the caller has it.
fn device() -> (MutexGuard<'static, ()>, &'static AnyQueue) {
    let device = DEVICE.lock().unwrap_or_else(PoisonError::into_inner);
    let (queue, _) = open_with(&Settings::default(), None, Some(Choice::Sim)).unwrap();
    // Another test may have come first.
    let _ = install(queue);
    let queue = open().unwrap();
    assert_eq!(queue.caps().kind, BackendKind::Cuda);
    (device, queue)
}

/// Checks a proof on the simulated device.
///
/// Returns the counts of reads, ahead and single, and of driver submissions.
fn counted(statement: &Statement, parameters: [u32; 5], seed: u64) -> (ReadCounts, Submissions) {
    let (_device, queue) = device();
    let (reads, submitted) = (ReadCounts::of_thread(), queue.submissions());
    check(statement, config(parameters, None), seed);
    (ReadCounts::of_thread() - reads, queue.submissions() - submitted)
}

#[test]
fn wide_fibonacci() {
    for (k, fold_step) in [1, 2, 3].into_iter().enumerate() {
        counted(&fibonacci(&[5], &[9]), [1, fold_step, 0, 3, 4], k as u64);
    }
    counted(&fibonacci(&[4, 6], &[3, 4]), [2, 1, 1, 2, 0], 3);
}

#[test]
fn columns_read_at_other_rows() {
    counted(&Statement::Neighbours { log_rows: 5 }, [1, 1, 0, 3, 1], 0);
}

#[test]
fn look_ups() {
    counted(&Statement::Xor { log_rows: 4, bits: 2 }, [1, 2, 0, 3, 2], 0);
    counted(&Statement::Steps { log_rows: [5, 4], first: [1, 2] }, [1, 1, 0, 3, 2], 1);
}

/// The values and hashes that open a proof are thousands, and are waited for a few times for each tree.
#[test]
fn openings_are_read_ahead() {
    for (fold_step, queries) in [(1, 3), (2, 40), (3, 100)] {
        let (reads, submitted) = counted(&fibonacci(&[11], &[20]), [1, fold_step, 0, queries, 3], u64::from(queries));
        let layers = 11_u64.div_ceil(u64::from(fold_step));
        let told = format!("{reads:?} {submitted:?} with folds of {fold_step} and {queries} queries");
        // Values and nodes of each layer and of two trees, points outside the domain, and once more where there are more queries than was
        // thought; roots, and the nonce.
        assert!(reads.ahead <= 2 * layers + 12, "{told}");
        assert!(reads.single <= layers + 2, "{told}");
        assert!(submitted.waits <= 3 * layers + 16, "{told}");
    }
}

/// A tree that several proofs have in common is opened elsewhere by each.
#[test]
fn openings_of_a_tree_of_several_proofs_are_read_ahead() {
    let (_device, _) = device();
    let (statement, seed) = (fibonacci(&[11], &[20]), 7);
    let config = |pow_bits| config([1, 3, 0, 70, pow_bits], None);
    let tree = trace_tree(config(0), 14, &rows(&statement, seed));
    for pow_bits in 1..=5 {
        let reads = ReadCounts::of_thread();
        check_with(&statement, config(pow_bits), seed, Choices { trace: Some(&tree), ..Choices::default() });
        let reads = ReadCounts::of_thread() - reads;
        assert!(reads.ahead <= 24 && reads.single <= 6, "{reads:?} with {pow_bits} bits of work");
    }
}
