//! Sums over one axis.

use core_types::params::elementwise::SumParams;

use super::shape::elements;

use crate::{
    BackendError, Queue, Real,
    ops::{Op, op},
};

op! {
    /// Sums over an axis in f32, in an order that depends on the shape alone.
    pub struct SumAxis<'a, Q, T: Real> as "sum_axis" {
        /// The shape.
        params: plain &'a SumParams,
        /// `outer x len x inner`.
        x: read T,
        /// `outer x inner`.
        y: write T,
    }
}

impl<Q: Queue, T: Real> SumAxis<'_, Q, T> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`ElementwiseOps`](super::ElementwiseOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let SumParams { outer, len, inner, .. } = *self.params;
        self.expect([elements(&[outer, len, inner]), elements(&[outer, inner])])
    }
}
