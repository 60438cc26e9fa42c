//! Inverses of many elements of the secure field.

use crate::{
    BackendError, BufferRef, Queue,
    ops::{Op, op},
};
use core_types::field::QM31;

op! {
    /// Inverts every element.
    ///
    /// If any element is zero, the inverses mean nothing. The op waits for nothing, so it can be
    /// recorded.
    pub struct BatchInverseQm31<'a, Q> as "batch_inverse_qm31" {
        /// The elements to invert.
        elements: read QM31,
        /// The inverses; same length as `elements`.
        inverses: write QM31,
        /// One word that is `u64::MAX` before: lowered to the index of the first zero.
        first_zero: write u64,
    }
}

impl<Q: Queue> BatchInverseQm31<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`CircleOps`](super::CircleOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let elements = self.elements.len();
        self.expect([elements, elements, 1])
    }
}
