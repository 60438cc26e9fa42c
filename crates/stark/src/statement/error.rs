//! Why there is no proof of a statement.

use stark_air::RecordError;
use thiserror::Error;

use crate::error::ProverError;

/// Why there is no proof of a statement.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProveError {
    /// An AIR of the statement, or the generator of its trace, cannot be recorded.
    #[error("component {component} cannot be recorded")]
    Record {
        /// The component.
        component: usize,
        /// Why.
        source: RecordError,
    },
    /// The trace has a wrong number of components.
    #[error("expected columns of {expected} components, got {got}")]
    Components {
        /// Components of the statement.
        expected: usize,
        /// Components of the trace.
        got: usize,
    },
    /// The statement has values for a wrong number of preprocessed columns.
    #[error(
        "expected values of {expected} preprocessed columns (from `preprocessed`), got {got} in `preprocessed_values`"
    )]
    PreprocessedColumns {
        /// Columns that are named.
        expected: usize,
        /// Columns with values.
        got: usize,
    },
    /// A preprocessed column does not have the height that the statement declares.
    #[error("preprocessed column `{name}`: expected 2^{log_rows} values, got {got}")]
    PreprocessedRows {
        /// Its name.
        name: &'static str,
        /// Log of the number of its rows.
        log_rows: u32,
        /// Its values.
        got: usize,
    },
    /// The slots of a relation do not follow the slots of the relation before it.
    #[error("expected a relation whose slots begin at {expected}, got {got}")]
    Relations {
        /// The slot after the slots of the relations before it.
        expected: u32,
        /// Its first slot.
        got: u32,
    },
    /// The claimed sums do not add up to the statement's public sum.
    ///
    /// The tuples used differ from the tuples yielded.
    #[error("LogUp sums do not balance: the tuples used differ from those yielded")]
    Sums,
    /// The prover refused, or the device failed.
    #[error(transparent)]
    Prover(#[from] ProverError),
}
