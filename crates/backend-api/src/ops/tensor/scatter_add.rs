//! Sums of rows into a table by index.

use core_types::params::tensor::TableParams;

use crate::{Real, ops::op};

op! {
    /// Row `indices[i]` of the table has row i of g added, for each i.
    ///
    /// The rows of one index are summed in f32 in the order that they have in `order`, then added
    /// to the table, and rounded once. Indices that the table does not have are left out.
    ///
    /// `order` lists the indices so that they ascend:
    /// `indices[order[0]] <= indices[order[1]] <= ..`. If it does not, rows of the table hold an
    /// unspecified part of the sums.
    pub struct ScatterAdd<'a, Q, T: Real> as "scatter_add" {
        /// Sizes.
        params: plain &'a TableParams,
        /// A row of the table for each row of `g`.
        indices: read u32 [count],
        /// The order of the indices.
        order: read u32 [count],
        /// The rows that are added.
        g: read T [count, width],
        /// The table.
        table: write T [rows, width],
    }
    sizes(self) {
        let TableParams { rows, width, count } = *self.params;
    }
}
