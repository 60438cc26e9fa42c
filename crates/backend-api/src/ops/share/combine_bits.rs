//! Linear sums of shares of bits.

use core_types::params::share::{BitParams, BitTerm};

use super::BitShape;
use crate::{BufferRef, ops::op};

op! {
    /// Sums of bits: exclusive ors of rows of XOR shares, and of public bits, which party 0 adds.
    pub struct CombineBits<'a, Q> as "combine_bits" {
        /// Party and number of elements.
        params: plain &'a BitParams,
        /// The terms of the sums.
        terms: plain &'a [BitTerm],
        /// Public words.
        x: read u64 [count],
        /// `k` rows of shares, for any `k`.
        rows: read u32 [k, words],
        /// The sums, a row of bits each.
        sums: write u32 [sums, words],
    }
    sizes(self) -> shape: BitShape {
        let shape = BitShape::new(OP, self.params, self.terms, self.rows.len())?;
        let BitShape { count, words, rows, sums } = shape;
        let k = rows.checked_div(words).unwrap_or_default();
    }
}
