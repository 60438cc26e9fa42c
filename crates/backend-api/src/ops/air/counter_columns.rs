//! Columns of counters.

use core_types::{field::M31, params::air::CounterColumnsParams};

use crate::ops::{columns::check_log, lengths::pow2, op};

op! {
    /// Writes counters to the columns of a table.
    ///
    /// Counter `k` of a column belongs to row `k`. It is written modulo P at the position of that
    /// row.
    pub struct CounterColumns<'a, Q> as "counter_columns" {
        /// Rows and columns.
        params: plain &'a CounterColumnsParams,
        /// The counters of each column.
        counters: read u32 [columns, pow2(log_rows)],
        /// The columns.
        columns: write M31 [columns, pow2(log_rows)],
    }
    sizes(self) {
        let CounterColumnsParams { log_rows, columns } = *self.params;
        check_log(OP, log_rows)?;
    }
    valid(self) {
        log_rows > 0, "expected a trace of at least 2 rows";
    }
}
