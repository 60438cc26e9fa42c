//! Comparison keys with payload at public offsets from one masked input.

use core_types::params::fss::DcfWindowParams;

use super::{DcfKeys, DcfShape};
use crate::ops::op;

op! {
    /// One party's additive shares modulo 2^width of β·1\[y_j < α\] for each key.
    ///
    /// α and β are the secrets of the key. The points y_j, and the promise on them, are as in
    /// [`CmpEvalWindow`](super::CmpEvalWindow).
    ///
    /// With b = ceil(L / 2), it takes (1 + b) (2 (bits - window) + m window) + b m AES blocks.
    pub struct DcfEvalWindow<'a, Q> as "dcf_eval_window" {
        /// Party, widths and number of keys and points.
        params: plain &'a DcfWindowParams,
        /// The keys of one party.
        keys: views DcfKeys<'a, Q> [row, levels, words],
        /// The masked input of each key, public.
        x_hat: read u64 [count],
        /// The m offsets, public.
        offsets: read u64 [points],
        /// The shares: L words for each offset and key.
        shares: write u64 [points, words, count],
    }
    sizes(self) -> shape: DcfShape {
        let shape = DcfShape::new(OP, self.params)?;
        let DcfShape { row, count, points, levels, words, .. } = shape;
    }
}
