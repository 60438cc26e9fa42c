//! Why an AIR or a generator was refused.

use thiserror::Error;

/// Why an AIR or a generator cannot be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RecordError {
    /// No trace has this number of rows.
    #[error("expected a log row count of 1..=30, got {got}")]
    LogRows {
        /// The log of the number of rows that the AIR states.
        got: u32,
    },
    /// No domain has the size that the bound asks for, or it is smaller than the trace.
    #[error("expected a log degree bound of {log_rows}..=30, got {got}")]
    LogDegreeBound {
        /// Log of the number of rows.
        log_rows: u32,
        /// The log of the degree bound that the AIR states.
        got: u32,
    },
    /// The generator writes no column.
    #[error("expected a generator of at least one column, got none")]
    NoColumn,
    /// A generator takes bits that no element has.
    #[error("expected bits from..to with from < to <= 31, got {from}..{to}")]
    Bits {
        /// The lowest bit.
        from: u32,
        /// The bit after the highest.
        to: u32,
    },
    /// A constraint has a greater degree than the AIR states.
    #[error("constraint {constraint} has degree {degree}; the stated bound allows {most}")]
    Degree {
        /// The constraint, counted from zero.
        constraint: usize,
        /// Its degree in the columns.
        degree: u32,
        /// The most that the bound allows.
        most: u32,
    },
    /// The AIR reads a preprocessed column by its place.
    ///
    /// They have no order; they are read by slot.
    #[error("preprocessed columns are read by slot, not by `mask`")]
    PreprocessedMask,
    /// More of something than a program can name.
    #[error("expected at most {most} {what}, got {got}")]
    TooMany {
        /// What there is too much of.
        what: &'static str,
        /// The most there can be.
        most: usize,
        /// How many there are.
        got: usize,
    },
    /// A fraction reads a column of the interaction or of a later tree.
    ///
    /// These columns do not exist yet when fractions are computed.
    #[error("fraction {fraction} of a lookup reads interaction columns or later trees, which are computed after it")]
    FractionReadsInteraction {
        /// The interaction column whose fraction it is, counted from zero.
        fraction: usize,
    },
    /// The sums are not one list of look-ups.
    ///
    /// Such a list is partial sums, then a running sum, and no other interaction column.
    #[error("expected interaction columns of one list of lookups: partial sums, then a running sum")]
    LookUps,
}
