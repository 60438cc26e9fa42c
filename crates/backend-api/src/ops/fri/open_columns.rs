//! Values of columns at queried positions.

use core_types::{
    field::M31,
    params::{columns::ColumnAt, fri::OpenColumnsParams},
};

use crate::{
    BufferRef,
    ops::{
        columns::{check_columns, check_log},
        op,
    },
};

op! {
    /// Gathers the values of columns at queried positions.
    ///
    /// The value is at leaf [`lifted(position, log_from, log_leaves)`](core_types::air::lifted) of
    /// the tree of the columns. Positions count modulo `2^log_from`. A column of one word has the
    /// same value at every leaf.
    pub struct OpenColumns<'a, Q> as "open_columns" {
        /// Sizes.
        params: plain &'a OpenColumnsParams,
        /// The columns of a tree, in any order.
        columns: plain &'a [ColumnAt],
        /// The buffer that they are in.
        values: read M31,
        /// The queries.
        positions: read u32 [queries],
        /// The values of each column at the queries.
        opened: write M31 [columns, queries],
    }
    sizes(self) {
        let OpenColumnsParams { log_from, log_leaves, queries } = *self.params;
        let columns = self.columns.len();
        check_log(OP, log_from)?;
        check_log(OP, log_leaves)?;
        check_columns(OP, self.columns, log_leaves, self.values.len())?;
    }
}
