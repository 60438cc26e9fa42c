//! Columns of look-ups.

use core_types::{
    field::{M31, QM31},
    params::air::LogUpColumnsParams,
};

use crate::{
    BackendError, Queue,
    ops::{
        Op,
        columns::{check_log, planes},
        op,
    },
};

op! {
    /// Computes the interaction columns of a component from its fractions.
    ///
    /// Column `k` holds, on each row, the sum of fractions `0..=k` of the row. The last column is
    /// then replaced by its running sum over the rows, less its mean for each row: see
    /// [`running_sum`](core_types::air::Row::running_sum). Rows follow each other along the coset;
    /// positions are stored as in any trace. A denominator of zero gives a fraction of zero.
    pub struct LogUpColumns<'a, Q> as "logup_columns" {
        /// Sizes.
        params: plain &'a LogUpColumnsParams,
        /// `[columns][2]`: numerators and denominators, four planes of `2^log_rows` words each.
        fractions: read M31,
        /// `[columns]`, four planes of `2^log_rows` words each.
        columns: write M31,
        /// The sum over all rows, and its mean.
        sums: write QM31,
    }
}

impl<Q: Queue> LogUpColumns<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`AirOps`](super::AirOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let LogUpColumnsParams { log_rows, columns } = *self.params;
        check_log(Self::NAME, log_rows)?;
        if log_rows == 0 || columns == 0 {
            return Err(BackendError::Unsupported { op: Self::NAME, why: "expected at least 2 rows and 1 column" });
        }
        let columns = columns as usize;
        self.expect([planes(columns.saturating_mul(2), log_rows), planes(columns, log_rows), 2])
    }
}
