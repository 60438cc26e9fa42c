//! Arithmetic on two tensors, in place of the first.

use core_types::params::elementwise::BinaryParams;

use super::shape::{count, is_row_major, product, reached};
use crate::{
    BackendError, BufferRef, Queue, Real,
    ops::{Op, linalg::shape::check_rank, op},
};

op! {
    /// `a = f(a, b)`, with the bits of [`Binary`](crate::ops::linalg::Binary).
    ///
    /// b may be repeated by zero strides. The strides of a must be row-major; others are refused.
    pub struct BinaryInPlace<'a, Q, T: Real> as "binary_in_place" {
        /// Function, shape and strides.
        params: plain &'a BinaryParams,
        /// The elements of the shape, in row-major order.
        a: write T,
        /// Must hold every element that its strides reach.
        b: read T,
    }
}

impl<Q: Queue, T: Real> BinaryInPlace<'_, Q, T> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`TensorOps`](super::TensorOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let p = self.params;
        check_rank(Self::NAME, p.rank)?;
        self.expect([count(product(p.rank, &p.shape)), reached(p.rank, &p.shape, &p.b_strides).max(self.b.len())])?;
        match is_row_major(p.rank, &p.shape, &p.a_strides) {
            true => Ok(()),
            false => Err(BackendError::Unsupported { op: Self::NAME, why: "the strides of a are not row-major" }),
        }
    }
}
