//! Arithmetic on two tensors, with broadcasting.

use core_types::params::elementwise::{BinaryParams, MAX_RANK};

use super::shape::{at_least, check_rank, count, product};

use crate::{
    BackendError, BufferRef, Queue, Real,
    ops::{Op, op},
};

op! {
    /// `y = f(a, b)` with broadcasting by zero strides.
    pub struct Binary<'a, Q, T: Real> as "binary" {
        /// Function, shape and strides.
        params: plain &'a BinaryParams,
        /// Must hold every element that its strides reach.
        a: read T,
        /// Likewise.
        b: read T,
        /// The elements of the shape.
        y: write T,
    }
}

impl<Q: Queue, T: Real> Binary<'_, Q, T> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`ElementwiseOps`](super::ElementwiseOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let params = self.params;
        check_rank(Self::NAME, params.rank)?;
        let shape = &params.shape[..params.rank as usize];
        let elements = product(shape);
        let reach = |end: u64, (&len, &stride): (&u64, &u64)| end.saturating_add(stride.saturating_mul(len - 1));
        let reached = |strides: &[u64; MAX_RANK]| match elements {
            0 => 0,
            _ => shape.iter().zip(strides).fold(1, reach),
        };
        let (a, b) = (reached(&params.a_strides), reached(&params.b_strides));
        self.expect([at_least(a, self.a.len()), at_least(b, self.b.len()), count(elements)])
    }
}
