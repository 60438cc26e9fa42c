//! Conversion from f32.

use core_types::params::tensor::Beyond;

use crate::{BufferMut, DType, Queue, Real, ops::op};

op! {
    /// `y = x` rounded to nearest, ties to even; NaN stays NaN.
    ///
    /// Infinities, and values beyond the range of `T`, which rounding makes infinite, are replaced
    /// according to `beyond` and optionally counted.
    pub struct Narrow<'a, Q, T: Real> as "narrow" {
        /// What becomes of values beyond the range.
        beyond: plain Beyond,
        /// The elements.
        x: read f32 [len],
        /// The results.
        y: write T [len],
        /// Number of values beyond the range, and index of the first one.
        ///
        /// The number is added to the first word. The second word is lowered to the index.
        found: write_if u64 [2],
    }
    sizes(self) {
        let len = self.y.len();
    }
}

impl<Q: Queue, T: Real> Narrow<'_, Q, T> {
    /// The least magnitude that rounding makes infinite, and the greatest finite value.
    #[must_use]
    pub fn range(&self) -> [f32; 2] {
        match T::DTYPE {
            DType::F16 => [65_520.0, 65_504.0],
            DType::Bf16 => [0x7f7f_8000, 0x7f7f_0000].map(f32::from_bits),
            DType::F32 => [f32::INFINITY, f32::MAX],
        }
    }
}
