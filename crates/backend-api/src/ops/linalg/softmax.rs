//! Softmax along an axis.

use core_types::params::rows::SoftmaxParams;

use super::{RowMask, shape::softmax_lengths};

use crate::{
    BackendError, Queue, Real,
    ops::{Op, op},
};

op! {
    /// `y_c = exp(x_c - max x) / sum_j exp(x_j - max x)` along the axis.
    ///
    /// Elements that the mask leaves out count as -inf; a row without any other element gives
    /// zeros. NaN and +inf in a row make the row NaN, and so does a row whose elements are all -inf
    /// without being left out.
    pub struct Softmax<'a, Q, T: Real> as "softmax" {
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

impl<Q: Queue, T: Real> Softmax<'_, Q, T> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`RowOps`](super::RowOps).
    pub fn check(&self) -> Result<(), BackendError> {
        softmax_lengths(Self::NAME, self.params).and_then(|lengths| self.expect(lengths))
    }
}
