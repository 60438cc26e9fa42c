//! Generation of comparison keys with payload.

use core_types::{Label, params::fss::DcfGenParams};

use super::DcfGenShape;
use crate::ops::op;

op! {
    /// Generates the common sections of DCF keys for the secrets `alphas` and `betas`.
    ///
    /// `alphas` are read modulo 2^bits.
    ///
    /// The two low bits of a root are ignored. Padding keys `count .. P` have the sections of α =
    /// 0, β = 0.
    pub struct DcfGen<'a, Q> as "dcf_gen" {
        /// Widths and number of keys and payload words.
        params: plain &'a DcfGenParams,
        /// The secret point of each key.
        alphas: read u64 [count],
        /// The secret payloads, a row for each of the L words.
        betas: read u64 [words, count],
        /// The roots, party 0 first: uniform, independent words, fresh for each batch.
        roots: read Label [2, row],
        /// Correction words, a row for each bit.
        corrections: write u128 [levels, row],
        /// Corrections of the payload, L rows for each bit.
        values: write u64 [levels, words, row],
        /// Corrections of the payload at the leaves.
        last: write u64 [words, row],
    }
    sizes(self) -> shape: DcfGenShape {
        let shape = DcfGenShape::new(OP, self.params)?;
        let DcfGenShape { row, count, levels, words, .. } = shape;
    }
}
