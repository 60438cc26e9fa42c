//! Inverses of many elements of Mersenne-31.

use core_types::field::M31;

use crate::{BufferRef, ops::op};

op! {
    /// Inverts every element.
    ///
    /// If any element is zero, the inverses mean nothing. The op waits for nothing, so it can be
    /// recorded.
    pub struct BatchInverseM31<'a, Q> as "batch_inverse_m31" {
        /// The elements to invert.
        elements: read M31,
        /// The inverses.
        inverses: write M31 [elements],
        /// `u64::MAX` before; lowered to the index of the first zero.
        first_zero: write u64 [1],
    }
    sizes(self) {
        let elements = self.elements.len();
    }
}
