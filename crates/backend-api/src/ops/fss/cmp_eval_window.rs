//! Comparison keys at public offsets from one masked input.

use core_types::params::fss::CmpWindowParams;

use super::{CmpKeys, CmpShape, GROUP};
use crate::ops::op;

op! {
    /// One party's XOR shares of 1\[α <= y_j\] for the secret α of each key.
    ///
    /// The points are y_j = `x_hat` - `offsets[j]` modulo 2^bits.
    ///
    /// The caller promises that all offsets lie in one window: `offsets[j] - offsets[0]`, modulo
    /// 2^bits, is at most 2^window. Then the points of a key lie in two neighbouring blocks
    /// ([`Window`](core_types::Window)), to which its tree is walked once: 2 (bits - window) + m
    /// (window - 7) AES blocks in all. A window of all bits promises nothing, and points are walked
    /// to from the root. A device that the keys do not fill may also walk from the root, or divide
    /// the points among its threads. Shares at offsets that break the promise may be any words.
    pub struct CmpEvalWindow<'a, Q> as "cmp_eval_window" {
        /// Party, widths and number of keys and points.
        params: plain &'a CmpWindowParams,
        /// The keys of one party.
        keys: views CmpKeys<'a, Q> [row, levels, leaves],
        /// The masked input of each key, public.
        x_hat: read u64 [count],
        /// The m offsets, public.
        offsets: read u64 [points],
        /// The shares, a row of bits for each offset.
        shares: write u32 [points, row / GROUP],
    }
    sizes(self) -> shape: CmpShape {
        let shape = CmpShape::new(OP, self.params)?;
        let CmpShape { row, count, points, levels, leaves } = shape;
    }
}
