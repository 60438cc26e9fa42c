//! Numbers of rows: those that no proof has are refused by name, and the smallest are proven.

use core_types::field::M31;
use stark::{Component, PcsConfig, Protocol, Prover, ProverError, preprocessed_root};
use stark_air::RecordError;
use stark_verifier::{Component as Checked, Preprocessed, StatementError, Verifier};

use crate::{
    common::slices,
    session::{airs::WideFibonacci, prove::prover, traces::traces},
    statement::Statement,
};

#[test]
fn columns_of_no_rows_and_of_a_few_are_named() {
    let q = runtime::cpu().unwrap();
    let statement = Statement::WideFibonacci { log_rows: vec![4], columns: vec![3] };
    let right = traces(&statement, 1);
    let mut prover = prover(&q, &statement, PcsConfig::default(), &right).unwrap();
    let columns = slices(&right.trace);
    for got in (0..16).chain([17, 32]) {
        let rows = vec![M31::ONE; got];
        let changed = [columns[0], &rows, columns[2]];
        let refused = ProverError::Rows { tree: 1, column: 1, expected: 16, got };
        assert_eq!(prover.prove(&q, &changed), Err(refused), "{got} rows");
    }
    assert!(prover.prove(&q, &columns).is_ok());
    for got in (0..16).filter(|got: &usize| !got.is_power_of_two()) {
        let refused = ProverError::Rows { tree: 0, column: 0, expected: got.next_power_of_two(), got };
        assert_eq!(preprocessed_root(&q, &PcsConfig::default(), &[&vec![M31::ONE; got]]), Err(refused));
    }
}

#[test]
fn two_four_and_eight_rows_are_proven() {
    let q = runtime::cpu().unwrap();
    for log_rows in 1..=3 {
        let statement = Statement::WideFibonacci { log_rows: vec![log_rows], columns: vec![4] };
        let right = traces(&statement, 1);
        let mut prover = prover(&q, &statement, PcsConfig::default(), &right).unwrap();
        let columns = slices(&right.trace);
        let proof = prover.prove(&q, &columns).unwrap();
        let air = WideFibonacci { log_rows, columns: 4 };
        let checked = vec![Checked::new(&air, &[])];
        let verifier = Verifier::new(Protocol::V2_3, PcsConfig::default(), Preprocessed::default(), checked).unwrap();
        assert_eq!(verifier.verify(&proof), Ok(()));
    }
}

#[test]
fn heights_without_a_domain_are_named() {
    let q = runtime::cpu().unwrap();
    let of = |log_rows| Component::new(&WideFibonacci { log_rows, columns: 3 }, &[]);
    for got in [0, 31, u32::MAX] {
        assert_eq!(of(got).map(|_| ()), Err(RecordError::LogRows { got }));
    }
    let rows = |log_rows| Err(ProverError::Statement(StatementError::Rows { log_rows }));
    for (log_rows, log_blowup_factor) in [(29, 2), (28, 3), (15, 16)] {
        let mut config = PcsConfig::default();
        config.fri_config.log_blowup_factor = log_blowup_factor;
        let made = Prover::new(&q, Protocol::V2_3, config, &[], vec![of(log_rows).unwrap()]);
        assert_eq!(made.map(|_| ()), rows(log_rows));
    }
}
