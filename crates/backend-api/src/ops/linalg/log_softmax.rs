//! The logarithm of softmax along an axis.

use core_types::params::rows::SoftmaxParams;

use super::{RowMask, shape::softmax_lengths};

use crate::{
    BackendError, Queue, Real,
    ops::{Op, op},
};

op! {
    /// Log-softmax, `y_c = (x_c - max x) - ln sum_j exp(x_j - max x)` along the axis.
    ///
    /// Masks and special values are as in [`Softmax`](super::Softmax), so elements left out give
    /// -inf. A finite element has a finite y: at least the least number of its type.
    pub struct LogSoftmax<'a, Q, T: Real> as "log_softmax" {
        /// The shape, and how masks repeat.
        params: plain &'a SoftmaxParams,
        /// `outer x len x inner`.
        x: read T,
        /// The elements to leave out.
        mask: views RowMask<'a, Q>,
        /// The results; same length as `x`.
        y: write T,
    }
}

impl<Q: Queue, T: Real> LogSoftmax<'_, Q, T> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`RowOps`](super::RowOps).
    pub fn check(&self) -> Result<(), BackendError> {
        softmax_lengths(Self::NAME, self.params).and_then(|lengths| self.expect(lengths))
    }
}
