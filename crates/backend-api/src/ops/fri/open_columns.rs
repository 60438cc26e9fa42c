//! Values of columns at queried positions.

use core_types::{
    field::M31,
    params::{columns::ColumnAt, fri::OpenColumnsParams},
};

use crate::{
    BackendError, BufferRef, Queue,
    ops::{
        Op,
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
        positions: read u32,
        /// `[columns][queries]`.
        opened: write M31,
    }
}

impl<Q: Queue> OpenColumns<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`FriOps`](super::FriOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let OpenColumnsParams { log_from, log_leaves, queries } = *self.params;
        check_log(Self::NAME, log_from)?;
        check_log(Self::NAME, log_leaves)?;
        check_columns(Self::NAME, self.columns, log_leaves, self.values.len())?;
        let queries = queries as usize;
        self.expect([self.values.len(), queries, self.columns.len().saturating_mul(queries)])
    }
}
