//! Sums, means and extremes along an axis.

use core_types::params::tensor::{ReduceParams, Reduction};

use super::shape::elements;
use crate::{
    BackendError, Queue, Real,
    ops::{Op, op},
};

op! {
    /// `y = reduction of x over the axis`.
    ///
    /// Sums are taken in f64, in an order that depends on the shape alone, and rounded to f32, then
    /// to `T`. Without elements there is no mean and no extreme, and those are refused unless there
    /// is no result either.
    pub struct Reduce<'a, Q, T: Real> as "reduce" {
        /// The reduction and the shape.
        params: plain &'a ReduceParams,
        /// `outer x len x inner`.
        x: read T,
        /// `outer x inner`.
        y: write T,
    }
}

impl<Q: Queue, T: Real> Reduce<'_, Q, T> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`TensorOps`](super::TensorOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let ReduceParams { reduction, outer, len, inner, .. } = *self.params;
        self.expect([elements(&[outer, len, inner]), elements(&[outer, inner])])?;
        match len > 0 || reduction == Reduction::Sum || outer == 0 || inner == 0 {
            true => Ok(()),
            false => Err(BackendError::Unsupported { op: Self::NAME, why: "the axis has no elements" }),
        }
    }
}
