//! Inverses of many elements of Mersenne-31.

use crate::{
    BackendError, BufferRef, Queue,
    ops::{Op, op},
};
use core_types::field::M31;

op! {
    /// Inverts every element.
    ///
    /// If any element is zero, the inverses mean nothing. The op waits for nothing, so it can be
    /// recorded.
    pub struct BatchInverseM31<'a, Q> as "batch_inverse_m31" {
        /// The elements to invert.
        elements: read M31,
        /// The inverses; same length as `elements`.
        inverses: write M31,
        /// One word that is `u64::MAX` before: lowered to the index of the first zero.
        first_zero: write u64,
    }
}

impl<Q: Queue> BatchInverseM31<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`CircleOps`](super::CircleOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let elements = self.elements.len();
        self.expect([elements, elements, 1])
    }
}
