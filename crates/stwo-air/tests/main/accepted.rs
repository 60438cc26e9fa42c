//! Traces checked against recorded AIRs: right ones are accepted, changed ones are not.

use core_types::field::{M31, QM31};
use stark_air::{HostTrace, TraceError, check_trace};
use stwo::core::channel::Blake2sChannel;

use crate::{
    look_ups::{by_row, interaction},
    random_point::challenges,
    recorded::{airs, relations},
    stated::Stated,
    statement::Statement,
    traces::traces,
};

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
    let (_, stored) = Stated::of(&statement).and_then(|stated| stated.evaluated()).unwrap();
    let challenges = challenges(Blake2sChannel::default(), &relations(&statement));
    for ((air, _), stored) in airs(&statement).iter().zip(&stored) {
        let (challenges, mut columns) = (&challenges[..], vec![vec![], by_row(stored)]);
        let trace = HostTrace { columns: &columns, preprocessed: &[], challenges, claimed_sum: QM31::ZERO };
        let (interaction, claimed_sum) = interaction(air, trace);
        columns.push(interaction);
        let trace = |claimed_sum| HostTrace { columns: &columns, preprocessed: &[], challenges, claimed_sum };
        assert_eq!(check_trace(air, &trace(claimed_sum)), Ok(()));
        assert!(matches!(check_trace(air, &trace(claimed_sum + QM31::ONE)), Err(TraceError::Violated(_))));
    }
}
