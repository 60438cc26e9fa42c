//! A function of every element.

use core_types::params::tensor::MapParams;

use super::shape::map_is_defined;
use crate::{
    BackendError, BufferMut, Queue, Real,
    ops::{Op, op},
};

op! {
    /// `y = f(x)`.
    ///
    /// A clamp between bounds out of order or NaN and a Huber function without a positive bound are
    /// refused.
    pub struct Map<'a, Q, T: Real> as "map" {
        /// The function.
        params: plain &'a MapParams,
        /// Its arguments.
        x: read T,
        /// The results; same length as `x`.
        y: write T,
    }
}

impl<Q: Queue, T: Real> Map<'_, Q, T> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`TensorOps`](super::TensorOps).
    pub fn check(&self) -> Result<(), BackendError> {
        self.expect([self.y.len(); 2])?;
        map_is_defined(Self::NAME, self.params)
    }
}
