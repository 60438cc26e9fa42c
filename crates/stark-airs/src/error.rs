//! Errors of statements and witnesses.

use core::fmt;

/// Why a statement or its trace cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AirError {
    /// A component has a number of rows that no proof has.
    Rows {
        /// Log of the number of rows.
        log_rows: u32,
        /// The least that is possible.
        least: u32,
        /// The most that is possible.
        most: u32,
    },
    /// A component has too few columns to constrain, or too many.
    Columns {
        /// The number of columns.
        got: u32,
        /// The least that is possible.
        least: u32,
        /// The most that is possible.
        most: u32,
    },
    /// A list of values does not have the length that the statement implies.
    Length {
        /// The listed items.
        what: &'static str,
        /// The length that is implied.
        expected: usize,
        /// The length of the list.
        got: usize,
    },
    /// A gate or an output reads a wire that has no value yet.
    Wire {
        /// The gate, or `None` for an output.
        gate: Option<usize>,
        /// The wire.
        wire: u32,
    },
}

impl fmt::Display for AirError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows { log_rows, least, most } => {
                write!(f, "expected a log row count of {least}..={most}, got {log_rows}")
            }
            Self::Columns { got, least, most } => write!(f, "expected {least}..={most} columns, got {got}"),
            Self::Length { what, expected, got } => write!(f, "expected {expected} {what}, got {got}"),
            Self::Wire { gate: Some(gate), wire } => write!(f, "gate {gate} reads wire {wire}, which has no value yet"),
            Self::Wire { gate: None, wire } => write!(f, "an output reads wire {wire}, which no input or gate drives"),
        }
    }
}

impl core::error::Error for AirError {}
