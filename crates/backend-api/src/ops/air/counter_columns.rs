//! Columns of counters.

use core_types::{field::M31, params::air::CounterColumnsParams};

use crate::{
    BackendError, Queue,
    ops::{Op, columns::check_log, op},
};

op! {
    /// Writes counters to the columns of a table.
    ///
    /// Counter `k` of a column belongs to row `k`. It is written modulo P at the position of that
    /// row.
    pub struct CounterColumns<'a, Q> as "counter_columns" {
        /// Rows and columns.
        params: plain &'a CounterColumnsParams,
        /// `2^log_rows` counters for each column.
        counters: read u32,
        /// Columns of `2^log_rows` words.
        columns: write M31,
    }
}

impl<Q: Queue> CounterColumns<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`AirOps`](super::AirOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let CounterColumnsParams { log_rows, columns } = *self.params;
        check_log(Self::NAME, log_rows)?;
        if log_rows == 0 {
            return Err(BackendError::Unsupported { op: Self::NAME, why: "expected a trace of at least 2 rows" });
        }
        let words = (columns as usize).saturating_mul(1 << log_rows);
        self.expect([words, words])
    }
}
