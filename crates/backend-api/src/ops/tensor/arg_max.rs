//! Where an axis is greatest.

use core_types::params::rows::AxisParams;

use super::shape::elements;
use crate::{
    BackendError, Queue, Real,
    ops::{Op, op},
};

op! {
    /// y is the index along the axis of the greatest element of x.
    ///
    /// It is the lowest index among equal elements; zeros of both signs are equal. NaN counts as
    /// the greatest. An axis without elements is refused unless there is no result. An axis with
    /// 2^32 or more elements is always refused.
    pub struct ArgMax<'a, Q, T: Real> as "arg_max" {
        /// The shape.
        params: plain &'a AxisParams,
        /// `outer x len x inner`.
        x: read T,
        /// `outer x inner`.
        y: write u32,
    }
}

impl<Q: Queue, T: Real> ArgMax<'_, Q, T> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`TensorOps`](super::TensorOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let AxisParams { outer, len, inner } = *self.params;
        self.expect([elements(&[outer, len, inner]), elements(&[outer, inner])])?;
        let why = if len == 0 && outer > 0 && inner > 0 {
            "the axis has no elements"
        } else if len > u64::from(u32::MAX) {
            "expected an axis of fewer than 2^32 elements"
        } else {
            return Ok(());
        };
        Err(BackendError::Unsupported { op: Self::NAME, why })
    }
}
