//! Columns of words of a table.

use core_types::{field::M31, params::air::GatherColumnParams};

use crate::ops::{columns::check_log, lengths::pow2, op};

op! {
    /// Gathers a column from a table of words.
    ///
    /// Each position receives the word whose number is its key, or zero if the table has no such
    /// word.
    pub struct GatherColumn<'a, Q> as "gather_column" {
        /// Rows and words.
        params: plain &'a GatherColumnParams,
        /// A column of numbers of words.
        keys: read M31 [pow2(log_rows)],
        /// The words, in their order.
        table: read M31 [words],
        /// The words of the keys, stored in the order of the keys.
        column: write M31 [pow2(log_rows)],
    }
    sizes(self) {
        let GatherColumnParams { log_rows, words } = *self.params;
        check_log(OP, log_rows)?;
    }
    valid(self) {
        log_rows > 0, "expected a trace of at least 2 rows";
    }
}
