//! The greatest magnitude of a matrix.

use crate::ops::op;

op! {
    /// The bit pattern of the greatest `|a|`, 0 without elements.
    ///
    /// Patterns are ordered like magnitudes, infinity comes after all of them and NaN after that,
    /// so the pattern also tells whether all elements are finite.
    pub struct MatrixPeak<'a, Q> as "matrix_peak" {
        /// The elements.
        a: read f32,
        /// The pattern.
        peak: write u32 [1],
    }
}
