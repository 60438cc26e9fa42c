//! Columns of look-ups.

use core_types::{
    field::{M31, QM31},
    params::air::LogUpColumnsParams,
};

use crate::ops::{columns::check_log, lengths::pow2, op};

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
        /// The numerator and then the denominator of each column, in four planes each.
        fractions: read M31 [columns, 2, 4, pow2(log_rows)],
        /// The columns, in four planes each.
        columns: write M31 [columns, 4, pow2(log_rows)],
        /// The sum over all rows, and its mean.
        sums: write QM31 [2],
    }
    sizes(self) {
        let LogUpColumnsParams { log_rows, columns } = *self.params;
        check_log(OP, log_rows)?;
    }
    valid(self) {
        log_rows > 0 && columns > 0, "expected at least 2 rows and 1 column";
    }
}
