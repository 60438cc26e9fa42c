//! Copies between layouts.

use core_types::params::tensor::CopyParams;

use super::shape::{is_nested, product, reached};
use crate::{
    BackendError, BufferMut, BufferRef, Queue, Real,
    ops::{Op, linalg::shape::check_rank, op},
};

op! {
    /// `y[i] = x[i]` for every index i of a shape of up to six axes.
    ///
    /// This is a transpose, a slice or a repetition of x into a slice of y; other elements of y
    /// stay. Strides of y whose axes do not nest are refused, since elements might overlap.
    pub struct CopyStrided<'a, Q, T: Real> as "copy_strided" {
        /// Shape and strides.
        params: plain &'a CopyParams,
        /// Must hold every element that its strides reach.
        x: read T,
        /// Must hold every element that its strides reach.
        y: write T,
    }
}

impl<Q: Queue, T: Real> CopyStrided<'_, Q, T> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`TensorOps`](super::TensorOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let p = self.params;
        check_rank(Self::NAME, p.rank)?;
        let (x, y) = (reached(p.rank, &p.shape, &p.x_strides), reached(p.rank, &p.shape, &p.y_strides));
        self.expect([x.max(self.x.len()), y.max(self.y.len())])?;
        match product(p.rank, &p.shape) == 0 || is_nested(p.rank, &p.shape, &p.y_strides) {
            true => Ok(()),
            false => Err(BackendError::Unsupported { op: Self::NAME, why: "elements of the result overlap" }),
        }
    }
}
