//! Proofs on the processor have the bytes of those on stwo's SIMD backend.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use common::{Choices, check, fibonacci, prove_rows};
use stwo::prover::ProvingError;
use stwo_vectors::{
    config::config,
    statement::Statement,
    truths::{plonk, poseidon2},
    verify::verify_statement,
    witness::trace::rows,
};

/// Each blow-up, fold step and last layer at every other height, with work of 0 to 10 bits.
#[test]
fn wide_fibonacci_with_all_parameters() {
    let mut proofs = 0;
    for (log_rows, blowup) in (3..=10_u32).flat_map(|log_rows| (1..=3_u32).map(move |blowup| (log_rows, blowup))) {
        let folds = (1..=3_u32).flat_map(|fold_step| (0..=2_u32).map(move |last| (fold_step, last)));
        for (fold_step, last) in
            folds.filter(|(f, l)| f + l <= log_rows && (log_rows + blowup + f + l).is_multiple_of(2))
        {
            let columns = [3, 4, 9, 17][proofs % 4];
            let parameters = [blowup, fold_step, last, 1 + proofs as u32 % 5, 7 * proofs as u32 % 11];
            check(&fibonacci(&[log_rows], &[columns]), config(parameters, None), proofs as u64);
            proofs += 1;
        }
    }
    assert!(proofs > 100, "{proofs} proofs");
}

#[test]
fn components_of_several_heights() {
    for (k, log_rows) in [&[4, 5][..], &[9, 4], &[3, 10, 6], &[5, 5], &[6, 6, 8, 3]].into_iter().enumerate() {
        for blowup in 1..=3 {
            let statement = fibonacci(log_rows, &[3, 6, 4, 5][..log_rows.len()]);
            let k = 3 * k as u32 + blowup;
            check(&statement, config([blowup, 1 + k % 3, k % 3, 3, k % 11], None), u64::from(k));
        }
    }
}

#[test]
fn columns_read_at_other_rows() {
    for (log_rows, blowup) in (3..=9).flat_map(|log_rows| (1..=3).map(move |blowup| (log_rows, blowup))) {
        let k = log_rows + blowup;
        check(&Statement::Neighbours { log_rows }, config([blowup, 1 + k % 2, k % 2, 4, k % 11], None), u64::from(k));
    }
}

#[test]
fn preprocessed_columns() {
    for log_rows in 3..=9 {
        check(&Statement::Cubes { log_rows }, config([1 + log_rows % 3, 1, 0, 3, 2], None), u64::from(log_rows));
    }
    let heights = [([5, 5], None), ([7, 4], None), ([4, 8], Some(6)), ([6, 3], Some(9))];
    for (k, (log_rows, unused)) in heights.into_iter().enumerate() {
        let statement = Statement::Selected { log_rows, unused };
        check(&statement, config([1 + k as u32 % 3, 1 + k as u32 % 2, 1, 3, 4], None), k as u64);
    }
}

#[test]
fn a_tree_lifted_above_its_columns() {
    for (k, lifting) in [8, 9, 11].into_iter().enumerate() {
        check(&fibonacci(&[6], &[4]), config([2, 2, 0, 3, 1], Some(lifting)), k as u64);
    }
}

#[test]
fn look_ups_of_a_state_machine() {
    for (log_rows, in_pairs) in (4..=10).flat_map(|log_rows| [(log_rows, false), (log_rows, true)]) {
        let k = log_rows + u32::from(in_pairs);
        let statement = Statement::StateMachine { log_rows, in_pairs };
        check(&statement, config([1 + k % 3, 1 + k % 3, 0, 3, k % 11], None), u64::from(k));
    }
    for (k, log_rows) in [[4, 4], [7, 4], [5, 9]].into_iter().enumerate() {
        let statement = Statement::Steps { log_rows, first: [17, 5] };
        check(&statement, config([1 + k as u32, 2, 1, 3, 5], None), k as u64);
    }
}

#[test]
fn look_ups_in_a_table_of_xor() {
    for (log_rows, bits) in [(4, 2), (6, 3), (8, 2), (5, 4)] {
        let k = log_rows + bits;
        check(&Statement::Xor { log_rows, bits }, config([1 + k % 3, 1 + k % 2, 0, 3, 6], None), u64::from(k));
    }
}

#[test]
fn look_ups_of_plonk() {
    for gates in [16, 60, 256, 500] {
        check(&plonk(gates, [3, gates]), config([1 + gates % 3, 2, 1, 3, 3], None), u64::from(gates));
    }
}

#[test]
fn look_ups_of_poseidon2() {
    check(&poseidon2(4), config([1, 1, 0, 3, 0], None), 0);
    check(&poseidon2(6), config([2, 3, 0, 3, 10], None), 1);
}

#[test]
fn many_queries() {
    check(&fibonacci(&[9], &[5]), config([1, 1, 0, 70, 0], None), 0);
    check(&Statement::StateMachine { log_rows: 8, in_pairs: true }, config([1, 3, 0, 100, 0], None), 1);
}

#[test]
fn the_verifier_of_stwo_takes_a_proof() {
    let (statement, config) = (Statement::Xor { log_rows: 6, bits: 3 }, config([1, 1, 0, 3, 2], None));
    let (proof, sums) = prove_rows(&statement, config, &rows(&statement, 7), Choices::default());
    verify_statement(&statement, config, &sums, proof.unwrap()).unwrap();
}

#[test]
fn a_trace_that_breaks_a_constraint_has_no_proof() {
    let (statement, config) = (fibonacci(&[5], &[4]), config([1, 1, 0, 3, 0], None));
    let mut rows = rows(&statement, 1);
    rows.trace[0][3][20] += 1.into();
    let (proof, _) = prove_rows(&statement, config, &rows, Choices::default());
    assert!(matches!(proof, Err(ProvingError::ConstraintsNotSatisfied)));
}
