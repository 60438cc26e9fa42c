//! Columns in the order in which commitments store them.

use alloc::{vec, vec::Vec};

use core_types::{air::stored_position, field::M31};

use crate::AirError;

/// The columns of a component in one tree.
///
/// Each column has the value of row `r` at
/// [`stored_position(r, log_rows)`](core_types::air::stored_position).
pub type TraceColumns = Vec<Vec<M31>>;

/// The most rows of a component, as a log: the largest canonic domain is twice as large.
pub(crate) const MAX_LOG_ROWS: u32 = 29;

/// Returns `log_rows`, if a proof can have `2^log_rows` rows.
pub(crate) fn checked_rows(log_rows: u32) -> Result<u32, AirError> {
    if (1..=MAX_LOG_ROWS).contains(&log_rows) {
        Ok(log_rows)
    } else {
        Err(AirError::Rows { log_rows, least: 1, most: MAX_LOG_ROWS })
    }
}

/// A column from the values of its rows.
pub(crate) fn column(log_rows: u32, mut value: impl FnMut(u32) -> M31) -> Vec<M31> {
    let mut column = vec![M31::ZERO; 1 << log_rows];
    for row in 0..1 << log_rows {
        column[stored_position(row, log_rows) as usize] = value(row);
    }
    column
}

/// Columns that are filled row by row.
pub(crate) struct TraceTable {
    log_rows: u32,
    columns: TraceColumns,
}

impl TraceTable {
    /// A table of zeros.
    pub(crate) fn new(log_rows: u32, width: usize) -> Self {
        Self { log_rows, columns: vec![vec![M31::ZERO; 1 << log_rows]; width] }
    }

    /// Sets the columns of a row, one value for each.
    pub(crate) fn set(&mut self, row: u32, values: impl IntoIterator<Item = M31>) {
        let position = stored_position(row, self.log_rows) as usize;
        let mut columns = self.columns.iter_mut();
        for value in values {
            columns.next().expect("a row is as wide as its table")[position] = value;
        }
        assert!(columns.next().is_none(), "a row is as wide as its table");
    }

    /// The columns.
    pub(crate) fn into_columns(self) -> TraceColumns {
        self.columns
    }
}
