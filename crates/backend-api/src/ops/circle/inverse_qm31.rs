//! Inverses of many elements of the secure field.

use core_types::field::QM31;

use crate::{BufferRef, ops::op};

op! {
    /// Inverts every element.
    ///
    /// If any element is zero, the inverses mean nothing. The op waits for nothing, so it can be
    /// recorded.
    pub struct BatchInverseQm31<'a, Q> as "batch_inverse_qm31" {
        /// The elements to invert.
        elements: read QM31,
        /// The inverses.
        inverses: write QM31 [elements],
        /// `u64::MAX` before; lowered to the index of the first zero.
        first_zero: write u64 [1],
    }
    sizes(self) {
        let elements = self.elements.len();
    }
}
