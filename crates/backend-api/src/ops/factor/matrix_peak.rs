//! The greatest magnitude of a matrix.

use crate::{
    BackendError, BufferRef, Queue,
    ops::{Op, op},
};

op! {
    /// The bit pattern of the greatest `|a|`, 0 without elements.
    ///
    /// Patterns are ordered like magnitudes, infinity comes after all of them and NaN after that,
    /// so the pattern also tells whether all elements are finite.
    pub struct MatrixPeak<'a, Q> as "matrix_peak" {
        /// The elements.
        a: read f32,
        /// One word.
        peak: write u32,
    }
}

impl<Q: Queue> MatrixPeak<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`FactorOps`](super::FactorOps).
    pub fn check(&self) -> Result<(), BackendError> {
        self.expect([self.a.len(), 1])
    }
}
