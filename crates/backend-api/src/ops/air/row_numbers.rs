//! The numbers of rows.

use core_types::{field::M31, params::air::RowNumbersParams};

use crate::{
    BackendError, Queue,
    ops::{Op, columns::check_log, op},
};

op! {
    /// Writes the number of each row of a trace, from zero, where the row is stored.
    pub struct RowNumbers<'a, Q> as "row_numbers" {
        /// The number of rows.
        params: plain &'a RowNumbersParams,
        /// A column of `2^log_rows` words.
        column: write M31,
    }
}

impl<Q: Queue> RowNumbers<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`AirOps`](super::AirOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let log_rows = self.params.log_rows;
        check_log(Self::NAME, log_rows)?;
        if log_rows == 0 {
            return Err(BackendError::Unsupported { op: Self::NAME, why: "expected a trace of at least 2 rows" });
        }
        self.expect([1 << log_rows])
    }
}
