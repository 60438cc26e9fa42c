//! Words to a dense bit stream, for transport.

use core_types::params::fss::PackParams;

use super::PackShape;
use crate::ops::op;

op! {
    /// Packs the low `bits` bits of elements into a dense little-endian bit stream.
    ///
    /// Element `i` starts at bit `i * bits`.
    pub struct PackBits<'a, Q> as "pack_bits" {
        /// Width and number of elements.
        params: plain &'a PackParams,
        /// The elements.
        elements: read u64 [count],
        /// The stream: `ceil(count * bits / 64)` words, whose unused bits are zero.
        words: write u64 [words],
    }
    sizes(self) -> shape: PackShape {
        let shape = PackShape::new(OP, self.params)?;
        let PackShape { count, words, .. } = shape;
    }
}
