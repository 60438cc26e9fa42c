//! Rows of a table by index.

use core_types::params::tensor::TableParams;

use crate::{Real, ops::op};

op! {
    /// Row i of y is row `indices[i]` of the table.
    ///
    /// The row of an index that the table does not have is filled with zeros: whoever has the
    /// indices on the host refuses them before, since a device cannot without waiting.
    pub struct Gather<'a, Q, T: Real> as "gather" {
        /// Sizes.
        params: plain &'a TableParams,
        /// The table.
        table: read T [rows, width],
        /// The rows that are read.
        indices: read u32 [count],
        /// The rows.
        y: write T [count, width],
    }
    sizes(self) {
        let TableParams { rows, width, count } = *self.params;
    }
}
