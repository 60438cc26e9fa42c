//! The numbers of rows.

use core_types::{field::M31, params::air::RowNumbersParams};

use crate::ops::{columns::check_log, lengths::pow2, op};

op! {
    /// Writes the number of each row of a trace, from zero, where the row is stored.
    pub struct RowNumbers<'a, Q> as "row_numbers" {
        /// The number of rows.
        params: plain &'a RowNumbersParams,
        /// The numbers of the rows.
        column: write M31 [pow2(log_rows)],
    }
    sizes(self) {
        let RowNumbersParams { log_rows } = *self.params;
        check_log(OP, log_rows)?;
    }
    valid(self) {
        log_rows > 0, "expected a trace of at least 2 rows";
    }
}
