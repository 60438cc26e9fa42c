//! Columns of words of a table.

use core_types::{field::M31, params::air::GatherColumnParams};

use crate::{
    BackendError, Queue,
    ops::{Op, columns::check_log, op},
};

op! {
    /// Gathers a column from a table of words.
    ///
    /// Each position receives the word whose number is its key, or zero if the table has no such
    /// word.
    pub struct GatherColumn<'a, Q> as "gather_column" {
        /// Rows and words.
        params: plain &'a GatherColumnParams,
        /// Numbers of words: a column of `2^log_rows`.
        keys: read M31,
        /// The words, in their order.
        table: read M31,
        /// A column of `2^log_rows` words, stored in the order of the keys.
        column: write M31,
    }
}

impl<Q: Queue> GatherColumn<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`AirOps`](super::AirOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let GatherColumnParams { log_rows, words } = *self.params;
        check_log(Self::NAME, log_rows)?;
        if log_rows == 0 {
            return Err(BackendError::Unsupported { op: Self::NAME, why: "expected a trace of at least 2 rows" });
        }
        self.expect([1 << log_rows, words as usize, 1 << log_rows])
    }
}
