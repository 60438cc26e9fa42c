//! Traces checked against recorded AIRs: right ones are accepted, changed ones are not.

use core_types::{
    air::{Air, stored_position},
    field::{M31, QM31},
};
use stark_air::{HostTrace, TraceError, check_trace};
use stark_airs::TraceColumns;

use crate::{
    check::{challenges, holds},
    proofs::Says,
    recorded::{Airs, airs},
    rows::{FractionRow, Table},
    stated::Stated,
    statement::Statement,
    traces::traces,
};

/// Columns in the order of their rows.
fn by_row(stored: &[Vec<M31>]) -> Vec<Vec<M31>> {
    let row = |column: &Vec<M31>, row| column[stored_position(row, column.len().ilog2()) as usize];
    stored.iter().map(|column| (0..column.len() as u32).map(|at| row(column, at)).collect()).collect()
}

#[test]
fn traces_without_look_ups_are_checked_row_by_row() {
    let statement = Statement::Cubes { log_rows: 4 };
    let (air, _) = &airs(&statement)[0];
    let traces = traces(&statement, 1);
    let mut columns = vec![vec![], by_row(&traces.trace)];
    let preprocessed = by_row(&traces.preprocessed);
    let trace = |columns: &[Vec<Vec<M31>>]| {
        let trace = HostTrace { columns, preprocessed: &preprocessed, challenges: &[], claimed_sum: QM31::ZERO };
        check_trace(air, &trace)
    };
    assert_eq!(trace(&columns), Ok(()));
    columns[1][0][11] += M31::ONE;
    let Err(TraceError::Violated(violation)) = trace(&columns) else { panic!("a cell was changed") };
    assert_eq!((violation.constraint, violation.row), (0, 11));
}

#[test]
fn traces_with_look_ups_are_checked_row_by_row() {
    let statement = Statement::Steps { log_rows: [3, 4], first: [5, 7] };
    let Some(Stated::Steps(machine, stored)) = Stated::of(&statement) else { panic!("it ships") };
    let challenges = challenges(&machine);
    for ((air, _), stored) in airs(&statement).iter().zip(&stored) {
        let (log_rows, rows) = (air.log_rows(), 1 << air.log_rows());
        let table = &Table { log_rows, preprocessed: vec![], trace: stored, challenges: &challenges };
        let fraction = |row| {
            let mut row = FractionRow { table, row, next: 0, fractions: vec![] };
            air.eval(&mut row);
            let [fraction] = row.fractions[..] else { panic!("both fractions are in one column") };
            fraction
        };
        let fractions: Vec<QM31> = (0..rows).map(fraction).collect();
        let claimed_sum = fractions.iter().fold(QM31::ZERO, |sum, &fraction| sum + fraction);
        let mean = claimed_sum.scale(M31::from_u32(rows).inverse().unwrap());
        let mut sum = QM31::ZERO;
        let mut interaction = vec![vec![]; 4];
        for fraction in fractions {
            sum = sum + fraction - mean;
            interaction.iter_mut().zip(sum.coordinates()).for_each(|(column, word)| column.push(word));
        }
        let columns = [vec![], by_row(stored), interaction];
        let trace =
            |claimed_sum| HostTrace { columns: &columns, preprocessed: &[], challenges: &challenges, claimed_sum };
        assert_eq!(check_trace(air, &trace(claimed_sum)), Ok(()));
        assert!(matches!(check_trace(air, &trace(claimed_sum + QM31::ONE)), Err(TraceError::Violated(_))));
    }
}

fn check<S: stark::Statement>(statement: S, airs: Airs, mut trace: Vec<TraceColumns>) {
    let says = Says { statement, airs };
    assert!(holds(&says, &trace));
    trace[0][0][0] += M31::ONE;
    assert!(!holds(&says, &trace));
}

#[test]
fn traces_that_ship_satisfy_airs_of_the_framework() {
    for statement in [
        Statement::Plonk { gates: 40, inputs: [1, 2], outputs: [3, 4] },
        Statement::Poseidon2 { log_rows: 3, first: [1; 16], last: [2; 16] },
        Statement::Blake2s { log_blocks: 1, digest: [3; 8] },
    ] {
        let airs = airs(&statement);
        match Stated::of(&statement).unwrap() {
            Stated::Steps(says, trace) => check(says, airs, trace),
            Stated::Plonk(says, trace) => check(says, airs, trace),
            Stated::Poseidon2(says, trace) => check(says, airs, trace),
            Stated::Blake2s(says, trace) => check(says, airs, trace),
        }
    }
}
