//! A dense bit stream to words again.

use core_types::params::fss::PackParams;

use super::PackShape;
use crate::ops::op;

op! {
    /// The inverse of [`PackBits`](super::PackBits).
    pub struct UnpackBits<'a, Q> as "unpack_bits" {
        /// Width and number of elements.
        params: plain &'a PackParams,
        /// The stream: `ceil(count * bits / 64)` words.
        words: read u64 [words],
        /// The elements, each below 2^bits.
        elements: write u64 [count],
    }
    sizes(self) -> shape: PackShape {
        let shape = PackShape::new(OP, self.params)?;
        let PackShape { count, words, .. } = shape;
    }
}
