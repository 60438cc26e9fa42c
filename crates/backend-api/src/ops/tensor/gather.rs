//! Rows of a table by index.

use core_types::params::tensor::TableParams;

use super::shape::{count, elements};
use crate::{
    BackendError, Queue, Real,
    ops::{Op, op},
};

op! {
    /// Row i of y is row `indices[i]` of the table.
    ///
    /// The row of an index that the table does not have is filled with zeros: whoever has the
    /// indices on the host refuses them before, since a device cannot without waiting.
    pub struct Gather<'a, Q, T: Real> as "gather" {
        /// Sizes.
        params: plain &'a TableParams,
        /// `rows x width`.
        table: read T,
        /// `count` indices.
        indices: read u32,
        /// `count x width`.
        y: write T,
    }
}

impl<Q: Queue, T: Real> Gather<'_, Q, T> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`TensorOps`](super::TensorOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let TableParams { rows, width, count: indices } = *self.params;
        self.expect([elements(&[rows, width]), count(indices), elements(&[indices, width])])
    }
}
