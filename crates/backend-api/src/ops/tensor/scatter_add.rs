//! Sums of rows into a table by index.

use core_types::params::tensor::TableParams;

use super::shape::{count, elements};
use crate::{
    BackendError, Queue, Real,
    ops::{Op, op},
};

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
        /// `count` indices.
        indices: read u32,
        /// `count` places in `indices`.
        order: read u32,
        /// `count x width`.
        g: read T,
        /// `rows x width`.
        table: write T,
    }
}

impl<Q: Queue, T: Real> ScatterAdd<'_, Q, T> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`TensorOps`](super::TensorOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let TableParams { rows, width, count: indices } = *self.params;
        let (places, table) = (count(indices), elements(&[rows, width]));
        self.expect([places, places, elements(&[indices, width]), table])
    }
}
