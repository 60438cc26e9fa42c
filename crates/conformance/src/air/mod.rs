//! Specifications of the `air` op set.
//!
//! The oracle of programs is an interpreter of one position at a time, on rows found by their
//! definition. AIRs that are recorded, run and made into columns of look-ups satisfy their own
//! constraints.

mod columns;
mod generated;
mod model;
mod programs;
mod recorded;
mod traces;

use crate::OpSpec;

/// Every specification of the op set.
#[must_use]
pub fn specs() -> Vec<OpSpec> {
    vec![
        programs::evaluate(),
        programs::fractions(),
        recorded::look_ups(),
        traces::columns(),
        traces::counter_columns(),
        traces::gather_column(),
        traces::row_numbers(),
        generated::traces(),
        columns::logup_columns(),
        columns::add_lifted(),
        columns::powers(),
    ]
}
