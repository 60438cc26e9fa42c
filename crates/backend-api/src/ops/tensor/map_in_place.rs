//! A function of every element, in its place.

use core_types::params::tensor::MapParams;

use super::shape::map_is_defined;
use crate::{
    BackendError, Queue, Real,
    ops::{Op, op},
};

op! {
    /// `x = f(x)`, with the bits of [`Map`](super::Map).
    pub struct MapInPlace<'a, Q, T: Real> as "map_in_place" {
        /// The function.
        params: plain &'a MapParams,
        /// Number of elements.
        len: plain usize,
        /// The arguments, then the results.
        x: write T,
    }
}

impl<Q: Queue, T: Real> MapInPlace<'_, Q, T> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`TensorOps`](super::TensorOps).
    pub fn check(&self) -> Result<(), BackendError> {
        self.expect([self.len])?;
        map_is_defined(Self::NAME, self.params)
    }
}
