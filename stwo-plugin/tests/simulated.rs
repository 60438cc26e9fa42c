//! Proofs on the simulated device, in a process of its own: a process has one queue.

mod common;

use common::{check, fibonacci};
use runtime::{Choice, Settings, open_with};
use stwo_vectors::{config::config, statement::Statement};
use trefoil_stwo::{ReadCounts, install, open};

/// Installs the simulated device, whichever test comes first.
fn simulate() {
    let (queue, _) = open_with(&Settings::default(), None, Some(Choice::Sim)).unwrap();
    // Another test may have come first.
    let _ = install(queue);
    assert_eq!(backend_api::Queue::caps(open().unwrap()).kind, backend_api::BackendKind::Cuda);
}

/// What a proof reads ahead, and value by value.
fn counted(statement: &Statement, parameters: [u32; 5], seed: u64) -> ReadCounts {
    simulate();
    let before = ReadCounts::of_thread();
    check(statement, config(parameters, None), seed);
    let after = ReadCounts::of_thread();
    ReadCounts { ahead: after.ahead - before.ahead, single: after.single - before.single }
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

/// Arenas of more than a few values, so that openings are foreseen: one read for what opens each.
#[test]
fn openings_are_read_ahead() {
    for (fold_step, queries) in [(1, 3), (2, 40), (3, 100)] {
        // Trees of three commitments and layers, their roots among the single reads.
        let ReadCounts { ahead, single } =
            counted(&fibonacci(&[11], &[20]), [1, fold_step, 0, queries, 3], u64::from(queries));
        let layers = 11_u64.div_ceil(u64::from(fold_step));
        assert!(ahead <= 10 + 4 * layers, "{ahead} reads ahead with folds of {fold_step} and {queries} queries");
        assert!(single <= 3 + layers, "{single} single reads with folds of {fold_step} and {queries} queries");
    }
}
